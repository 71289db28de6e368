/**
 * For `--import`, with `--expose-gc`: a program that tells, when it is sent SIGUSR2, how many bytes of heap it holds after a
 * collection.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.()
  // What a first collection makes free for its finalisers, a second one takes.
  setImmediate(() => {
    globalThis.gc?.()
    process.stderr.write(`heap after a collection: ${process.memoryUsage().heapUsed}\n`)
  })
})
