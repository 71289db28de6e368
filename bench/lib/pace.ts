/** Calls `emit` `count` times at a steady rate. A late timer makes up for missed calls, so the rate is kept. */
export function atPace(rate: number, count: number, emit: (index: number) => void): Promise<void> {
  const start = performance.now()
  let done = 0
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(count, Math.floor(((performance.now() - start) / 1000) * rate))
      while (done < due) emit(done++)
      if (done < count) return
      clearInterval(timer)
      resolve()
    }, 1)
  })
}

/** Microseconds of a clock that all processes of this machine share, always 16 characters. */
export function stamp(): string {
  return String(process.hrtime.bigint() / 1000n).padStart(16, '0')
}

export function microseconds(): number {
  return Number(process.hrtime.bigint()) / 1000
}

export function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
