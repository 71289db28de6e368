/** Resolves true if `work` settles within `ms`, otherwise false. */
export function atMost(work: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false)
    void work.finally(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}
