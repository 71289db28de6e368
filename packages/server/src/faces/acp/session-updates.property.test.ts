import type { NewSessionRequest } from '@agentclientprotocol/sdk/unstable'
import type { SessionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { randomScript } from '../../testing/random-script.ts'
import { choosing, type EditorUnderTest, everything } from './editor-under-test.ts'
import { anEditor, join, logOf } from './face-under-test.ts'

type Told = { blocks: Record<string, string>; calls: Record<string, string> }

/** The text of each block and the status of each call that the editor received. */
function toldTo(editor: EditorUnderTest, sessionId: string): Told {
  const told: Told = { blocks: {}, calls: {} }
  for (const { sessionId: of, update } of editor.heard) {
    if (of !== sessionId) continue
    if (update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk') {
      const { messageId, content } = update
      if (messageId && content.type === 'text')
        told.blocks[messageId] = (told.blocks[messageId] ?? '') + content.text
    }
    if (update.sessionUpdate === 'tool_call') {
      expect(told.calls[update.toolCallId]).toBeUndefined()
      told.calls[update.toolCallId] = String(update.status)
    }
    if (update.sessionUpdate === 'tool_call_update') {
      expect(told.calls[update.toolCallId]).toMatch(/pending|in_progress/)
      if (update.status) told.calls[update.toolCallId] = update.status
    }
  }
  return told
}

function recorded(log: readonly SessionEvent[]): Told {
  const told: Told = { blocks: {}, calls: {} }
  for (const event of log) {
    const isBlock = event.type === 'text.written' || event.type === 'thinking.written'
    if (isBlock && event.text !== '') told.blocks[event.blockId] = event.text
    if (event.type === 'tool-call.ended')
      told.calls[event.toolCallId] = event.outcome === 'completed' ? 'completed' : 'failed'
  }
  return told
}

it('sends an editor what the log says, live and replayed, whatever an agent does', async () => {
  const { editor, world } = await anEditor()
  editor.answerPermission = choosing('allow_once')
  editor.answerForm = () => ({ action: 'accept', content: { colour: 'red' } })
  const { editor: late } = join(world)
  await late.introduce(everything)
  await fc.assert(
    fc.asyncProperty(randomScript, async (script) => {
      const place: NewSessionRequest = { cwd: world.cwd, mcpServers: [] }
      const { sessionId } = await editor.agent.request('session/new', place)
      const prompt = [{ type: 'text' as const, text: JSON.stringify([...script, { type: 'end' }]) }]
      const turn = editor.agent.request('session/prompt', { sessionId, prompt }).catch(() => undefined)
      if (script.some(({ type }) => type === 'hang')) {
        await editor.until(() => editor.heard.some((one) => one.sessionId === sessionId))
        await editor.agent.notify('session/cancel', { sessionId })
      }
      await turn
      await late.agent.request('session/load', { sessionId, ...place })
      const log = recorded(await logOf(world, sessionId))
      const { blocks, calls } = toldTo(editor, sessionId)
      const written = Object.fromEntries(Object.keys(log.blocks).map((id) => [id, blocks[id]]))
      expect({ blocks: written, calls }).toEqual(log)
      expect(toldTo(late, sessionId)).toEqual(log)
    }),
    { numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 40) },
  )
})
