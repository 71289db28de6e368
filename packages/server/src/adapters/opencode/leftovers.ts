import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * OpenCode runs each command in a process group of its own, so ending the server's group does not end what it
 * started. Every process of a server carries a mark in its environment; by that it is found, where there is /proc.
 */
export const markVariable = 'PARLEY_OPENCODE_SERVER'

/** Ends by force whatever carries the mark. */
export function endMarked(mark: string): void {
  for (const pid of markedProcesses(mark)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {}
  }
}

export function markedProcesses(mark: string): number[] {
  return processes().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${markVariable}=${mark}`)
    } catch {
      return false
    }
  })
}

function processes(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
  } catch {
    return []
  }
}

/** It reads until nobody is left who could write: then this process is gone, however it went, and the server goes too. */
const script = `
while read -r _; do :; done
kill -TERM "-$1" 2>/dev/null
sleep 1
kill -KILL "-$1" 2>/dev/null
for file in /proc/[0-9]*/environ; do
  if grep -qs "${markVariable}=$2" "$file"; then
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}" 2>/dev/null
  fi
done
`

/** Watches over a server from outside this process. The result ends the watch. */
export function watchOver(pid: number, mark: string): () => void {
  const watch = spawn('/bin/sh', ['-c', script, 'sh', String(pid), mark], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  })
  watch.on('error', () => undefined)
  watch.stdin.on('error', () => undefined)
  watch.unref()
  return () => watch.kill('SIGKILL')
}
