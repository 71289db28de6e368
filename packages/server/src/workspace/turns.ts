/** Runs the operations of each key one after the other. */
export function createTurns() {
  const tails = new Map<string, Promise<unknown>>()
  return <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const result = (tails.get(key) ?? Promise.resolve()).then(work)
    const tail = result
      .catch(() => undefined)
      .finally(() => {
        if (tails.get(key) === tail) tails.delete(key)
      })
    tails.set(key, tail)
    return result
  }
}
