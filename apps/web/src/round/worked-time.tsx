import type { Attempt } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { duration } from '../base/format.logic.ts'

/** The working time of an attempt, which grows while a turn runs. */
export function WorkedTime({ attempt: { workedMs, runningSince } }: { attempt: Attempt }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (runningSince === undefined) return undefined
    setNow(Date.now())
    const timer = setInterval(() => document.hidden || setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [runningSince])
  if (runningSince !== undefined) {
    const seconds = Math.floor((workedMs + Math.max(0, now - runningSince)) / 1000)
    return duration(seconds * 1000)
  }
  return workedMs === 0 ? <span className="text-faint">not started</span> : duration(workedMs)
}
