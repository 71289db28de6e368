import type { ClientCapabilities } from '@agentclientprotocol/sdk/unstable'
import type { SessionEvent } from '@parley/protocol'
import { onTestFinished } from 'vitest'
import { type HostUnderTest, type HostUnderTestOptions, hostUnderTest } from '../../core/host-under-test.ts'
import { type EditorUnderTest, editorUnderTest, everything, wires } from './editor-under-test.ts'
import { createAcpFace, hostAccess } from './index.ts'

export type Given = { capabilities?: ClientCapabilities; host?: HostUnderTestOptions; agent?: string }

/** A real host, and an editor that is connected to it but has not sent `initialize`. */
export async function otherClient({ host, agent }: Given = {}) {
  const world = await hostUnderTest(host)
  onTestFinished(() => world[Symbol.asyncDispose]())
  return { world, ...join(world, agent) }
}

/** Connects another editor to the same host. `type` writes bytes that the SDK would never write. */
export function join(
  world: HostUnderTest,
  agent = 'scripted',
): {
  editor: EditorUnderTest
  closed: Promise<void>
  type(text: string): Promise<void>
  hangUp(): Promise<void>
} {
  const line = wires()
  const { closed } = createAcpFace(line.face, {
    access: hostAccess(world.host),
    agent,
    version: '1',
    elsewhere: (id) => `attach ${id}`,
    problem: (thrown, doing) => void world.problems.push(`${doing}: ${thrown}`),
  })
  const editor = editorUnderTest(line.editor)
  onTestFinished(() => editor.leave())
  return { editor, closed, type: line.type, hangUp: line.hangUp }
}

/** A host, and the editor's end of a stream. The test can stop reading from it. */
export async function heldBack() {
  const world = await hostUnderTest()
  onTestFinished(() => world[Symbol.asyncDispose]())
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  const line = wires(() => gate.promise)
  createAcpFace(line.face, { access: hostAccess(world.host), agent: 'scripted', version: '1' })
  const delivery = {
    hold() {
      gate = Promise.withResolvers()
    },
    release: () => gate.resolve(),
  }
  return { world, line: line.editor, delivery }
}

export async function anEditor(given: Given = {}) {
  const all = await otherClient(given)
  await all.editor.introduce(given.capabilities ?? everything)
  return all
}

/** A session that is open in an editor. `play` sends a script as its prompt. */
export async function aSession(given: Given = {}) {
  const { world, editor, ...rest } = await anEditor(given)
  const made = await editor.agent.request('session/new', { cwd: world.cwd, mcpServers: [] })
  const { sessionId } = made
  const play = (...script: object[]) =>
    editor.agent.request('session/prompt', {
      sessionId,
      prompt: [{ type: 'text', text: JSON.stringify(script) }],
    })
  return { ...rest, world, editor, made, sessionId, play }
}

export async function logOf(world: HostUnderTest, sessionId: string): Promise<SessionEvent[]> {
  const { events } = await world.host.read(sessionId, { after: 0, limit: 5000 })
  return events.map(({ json }) => JSON.parse(json) as SessionEvent)
}
