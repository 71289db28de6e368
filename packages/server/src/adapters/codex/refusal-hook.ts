import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * Run by Codex before each call, with the call on stdin: asks Parley, at the socket it is given, whether the call is
 * refused. Where Parley cannot be asked, or does not answer in time, it is. A refusal is an exit with 2 and words on
 * stderr: unlike on stdout, nothing that a shell prints beside them can undo it.
 */
async function ask(socketPath: string, patienceMs: number): Promise<{ deny?: string }> {
  const socket = connect({ path: socketPath, signal: AbortSignal.timeout(patienceMs) })
  const answer = text(socket)
  answer.catch(() => undefined)
  socket.end(await text(process.stdin))
  return JSON.parse(await answer) as { deny?: string }
}

const [, , socketPath = '', patienceMs = ''] = process.argv
const { deny } = await ask(socketPath, Number(patienceMs)).catch(() => ({
  deny: 'Parley cannot be asked.',
}))
if (deny !== undefined) {
  process.stderr.write(deny.trim() || 'Parley refuses this.')
  process.exitCode = 2
}
