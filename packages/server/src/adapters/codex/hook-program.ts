import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * Codex runs this program before each call, with the call on stdin. The program asks Parley, at the given socket,
 * whether the call is refused. If Parley cannot be reached or does not answer in time, the call is refused. A refusal
 * is exit status 2 with text on stderr: unlike a refusal on stdout, it cannot be corrupted by other output of the
 * shell.
 */
async function ask(socketPath: string, timeoutMs: number): Promise<{ deny?: string }> {
  const socket = connect({ path: socketPath, signal: AbortSignal.timeout(timeoutMs) })
  const answer = text(socket)
  answer.catch(() => undefined)
  socket.end(await text(process.stdin))
  return JSON.parse(await answer) as { deny?: string }
}

const [, , socketPath = '', timeoutMs = ''] = process.argv
const { deny } = await ask(socketPath, Number(timeoutMs)).catch(() => ({
  deny: 'Parley cannot be reached.',
}))
if (deny !== undefined) {
  process.stderr.write(deny.trim() || 'Parley denied this call.')
  process.exitCode = 2
}
