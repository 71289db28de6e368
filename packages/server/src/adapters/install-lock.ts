import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'

/** The locks that this process holds. After a restart in a container, a stale lock may contain our own process id. */
const ours = new Set<string>()
const writingMs = 5_000

/**
 * Allows one installation of an agent at a time on this machine. The lock file contains the id of the process that
 * installs. The file of a process that no longer runs is ignored.
 */
export function lockInstall(file: string, agent: string): Disposable {
  const own = `${process.pid} ${randomUUID()}\n`
  for (let tries = 0; tries < 3; tries++) {
    try {
      writeFileSync(file, own, { flag: 'wx', mode: 0o600 })
      ours.add(own)
      return { [Symbol.dispose]: () => release(file, own) }
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    }
    const holder = contentOf(file)
    if (holder === undefined) continue
    if (holder === '' ? isYoung(file) : isHeld(holder)) throw inUse(file, agent, Number.parseInt(holder, 10))
    setAside(file, holder)
  }
  throw inUse(file, agent, undefined)
}

/**
 * Removes a stale lock. Two processes may find the same stale lock, so the file is moved first and read again. This
 * ensures that neither process removes a live lock.
 */
function setAside(file: string, holder: string): void {
  const aside = `${file}.${randomUUID()}`
  try {
    renameSync(file, aside)
  } catch {
    return
  }
  if (contentOf(aside) === holder) rmSync(aside, { force: true })
  else renameSync(aside, file)
}

function release(file: string, own: string): void {
  ours.delete(own)
  if (contentOf(file) === own) rmSync(file, { force: true })
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * True if the file was created a moment ago. An empty file is then still being written; an older empty file belongs to
 * a process that died before it wrote.
 */
function isYoung(file: string): boolean {
  const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  return made !== undefined && Date.now() - made < writingMs
}

function isHeld(content: string): boolean {
  const pid = Number.parseInt(content, 10)
  if (pid === process.pid) return ours.has(content)
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function inUse(file: string, agent: string, pid: number | undefined): ParleyError {
  const who = pid ? `process ${pid}` : 'another process'
  return new ParleyError(
    'busy',
    `${agent} is being installed, updated or removed by ${who} right now. Wait until it has finished; if there is no such process, delete ${file}.`,
    { details: { agent, file, ...(pid && { pid }) } },
  )
}
