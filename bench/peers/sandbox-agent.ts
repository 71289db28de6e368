import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { AcpClient, type AcpMessage } from './acp.ts'
import { claudeAgentAcpEntry } from './claude-agent-acp.ts'
import { openEvents } from './http.ts'
import { answers, freePort, startServer } from './server-process.ts'
import type { Hear, Place, Side } from './side.ts'

/**
 * The server sandbox-agent. It runs claude-agent-acp, which it finds on the PATH under the name that it expects, so that
 * it installs nothing and starts the adapter without npx.
 */
export const sandboxAgent: Side = {
  async start(place) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const args = ['server', '--no-token', '--no-telemetry', '--host', '127.0.0.1', '--port', `${port}`]
    const server = startServer(place, [program(place), ...args], { env: environment(place) })
    await answers(`${url}/v1/health`, server)
    let sessions = 0
    return {
      startMs: performance.now() - server.begun,
      newSession: (prompt, hear) => newSession(`${url}/v1/acp/bench-${++sessions}`, place, { prompt, hear }),
      stop: server.stop,
    }
  },
}

function program({ programs }: Place): string {
  const platform = `${process.platform}-${process.arch}`
  const path = join(
    programs.packages['sandbox-agent'] ?? '',
    `node_modules/@sandbox-agent/cli-${platform}/bin/sandbox-agent`,
  )
  // An install script of the package would do this; install scripts are not run.
  chmodSync(path, 0o755)
  return path
}

function environment(place: Place): Record<string, string> {
  const bin = join(place.temporary, 'bin')
  mkdirSync(bin, { recursive: true })
  script(join(bin, 'claude-agent-acp'), `exec '${process.execPath}' '${claudeAgentAcpEntry(place)}' "$@"`)
  script(join(bin, 'claude'), `exec '${place.programs.claude}' "$@"`)
  return {
    PATH: [bin, place.env.PATH].join(delimiter),
    CLAUDE_CODE_EXECUTABLE: place.programs.claude,
    SANDBOX_AGENT_REQUIRE_PREINSTALL: '1',
    SANDBOX_AGENT_ACP_REGISTRY_URL: 'http://127.0.0.1:9',
  }
}

function script(path: string, line: string): void {
  writeFileSync(path, `#!/bin/sh\n${line}\n`)
  chmodSync(path, 0o755)
}

async function newSession(url: string, place: Place, first: { prompt: string; hear: Hear }) {
  const client = new AcpClient((message) => void send(message).catch((error) => client.fail(error)))
  let query = '?agent=claude'
  const send = async (message: object) => {
    const response = await fetch(`${url}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(message),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`sandbox-agent: ${response.status} ${text.slice(0, 300)}`)
    if (text !== '') reply(JSON.parse(text) as AcpMessage)
  }
  // The answer to a request may come with the response or as an event, and the texts of a turn only as events. If the
  // answer comes with the response, the events before it may still be on their way.
  const reply = (message: AcpMessage) =>
    setTimeout(() => client.take(message), query === '' ? lateEventsMs : 0)
  await client.initialize()
  await openEvents(url, (message) => client.take(message as AcpMessage))
  const id = await client.newSession(place.work)
  query = ''
  await client.prompt(id, first.prompt, first.hear)
  const listen = (hear: Hear, after: number) =>
    openEvents(
      url,
      (message) => {
        const { sessionUpdate, content } = (message as AcpMessage).params?.update ?? {}
        if (sessionUpdate === 'agent_message_chunk' && content?.text !== undefined) hear(content.text)
      },
      { 'last-event-id': `${after}` },
    )
  return {
    prompt: (text: string, hear: Hear) => client.prompt(id, text, hear),
    join: (hear: Hear) => listen(hear, afterAll),
    read: (hear: Hear) => listen(hear, 0),
  }
}

/** A number after that of every event, so that a live reader gets no earlier events. */
const afterAll = 1e9
const lateEventsMs = 500
