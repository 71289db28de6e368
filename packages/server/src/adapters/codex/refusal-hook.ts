import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * Run by Codex before each call, with the call on stdin: asks Parley, at the socket it is given, whether the call is
 * refused. Where Parley cannot be asked, it is.
 */
async function ask(socketPath: string, call: string): Promise<{ deny?: string }> {
  const socket = connect(socketPath)
  socket.end(call)
  return JSON.parse(await text(socket)) as { deny?: string }
}

const [, , socketPath = ''] = process.argv
const answer = await ask(socketPath, await text(process.stdin)).catch(() => ({
  deny: 'Parley cannot be reached.',
}))
if (answer.deny !== undefined) {
  const output = {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: answer.deny,
  }
  process.stdout.write(JSON.stringify({ hookSpecificOutput: output }))
}
