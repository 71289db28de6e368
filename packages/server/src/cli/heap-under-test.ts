/**
 * For `--import`, with `--expose-gc`: on SIGUSR2 the program reports how many bytes of heap it holds after a
 * collection.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.()
  // The second collection frees what the finalisers of the first one released.
  setImmediate(() => {
    globalThis.gc?.()
    process.stderr.write(`heap after a collection: ${process.memoryUsage().heapUsed}\n`)
  })
})
