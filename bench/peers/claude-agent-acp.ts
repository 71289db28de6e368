import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { AcpClient, type AcpMessage } from './acp.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Place, Side } from './side.ts'

/** claude-agent-acp, with a client on its stdin and stdout. A reader of a stored session starts a process of its own. */
export const claudeAgentAcp: Side = {
  async start(place) {
    const { client, server } = await connect(place)
    return {
      startMs: performance.now() - server.begun,
      async newSession(prompt, hear) {
        const id = await client.newSession(place.work)
        await client.prompt(id, prompt, hear)
        return {
          prompt: (text, hearTurn) => client.prompt(id, text, hearTurn),
          async read(hearAll) {
            const reader = await connect(place)
            try {
              await reader.client.load(id, place.work, hearAll)
            } finally {
              await reader.server.stop()
            }
          },
        }
      },
      stop: server.stop,
    }
  },
}

const entry = 'node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js'

export const claudeAgentAcpEntry = ({ programs }: Place) =>
  join(programs.packages['claude-agent-acp'] ?? '', entry)

async function connect(place: Place): Promise<{ client: AcpClient; server: ServerProcess }> {
  const server = startServer(place, [process.execPath, claudeAgentAcpEntry(place)], {
    env: { CLAUDE_CODE_EXECUTABLE: place.programs.claude },
    stdin: 'pipe',
  })
  const { stdin, stdout } = server.child
  const client = new AcpClient((message) => stdin?.write(`${JSON.stringify(message)}\n`))
  createInterface({ input: stdout! }).on('line', (line) => client.take(JSON.parse(line) as AcpMessage))
  server.child.once('exit', (code) => client.fail(new Error(`claude-agent-acp ended (${code}).`)))
  await client.initialize()
  return { client, server }
}
