/**
 * Loaded with `--import`, together with `--expose-gc`. On SIGUSR2 the program reports how many bytes of heap are in
 * use after a collection.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.()
  // The second collection frees the objects that the finalisers of the first one released.
  setImmediate(() => {
    globalThis.gc?.()
    process.stderr.write(`heap after a collection: ${process.memoryUsage().heapUsed}\n`)
  })
})
