/** Until it is done, or for so long. Whether it is done. */
export function atMost(work: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false)
    void work.finally(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}
