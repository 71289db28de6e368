import { spawn } from 'node:child_process'
import { markVariable } from '../leftovers.ts'

/**
 * Reads stdin until all writers have closed it. Then this process has ended, in whatever way, and the script ends the
 * server.
 */
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

/** Watches over a server from a separate process. The returned function ends the watch. */
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
