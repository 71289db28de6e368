import type { NewSessionRequest } from '@agentclientprotocol/sdk/unstable'
import type { SessionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { randomScript } from '../../testing/random-script.ts'
import { choosing, type EditorUnderTest, everything } from './editor-under-test.ts'
import { anEditor, join, logOf } from './face-under-test.ts'

type Reported = { blocks: Record<string, string>; calls: Record<string, string> }

/** The text of each block and the status of each call that the editor received. */
function reportedTo(editor: EditorUnderTest, sessionId: string): Reported {
  const reported: Reported = { blocks: {}, calls: {} }
  for (const { sessionId: of, update } of editor.received) {
    if (of !== sessionId) continue
    if (update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk') {
      const { messageId, content } = update
      if (messageId && content.type === 'text')
        reported.blocks[messageId] = (reported.blocks[messageId] ?? '') + content.text
    }
    if (update.sessionUpdate === 'tool_call') {
      expect(reported.calls[update.toolCallId]).toBeUndefined()
      reported.calls[update.toolCallId] = String(update.status)
    }
    if (update.sessionUpdate === 'tool_call_update') {
      expect(reported.calls[update.toolCallId]).toMatch(/pending|in_progress/)
      if (update.status) reported.calls[update.toolCallId] = update.status
    }
  }
  return reported
}

function recorded(log: readonly SessionEvent[]): Reported {
  const reported: Reported = { blocks: {}, calls: {} }
  for (const event of log) {
    const isBlock = event.type === 'text.written' || event.type === 'thinking.written'
    if (isBlock && event.text !== '') reported.blocks[event.blockId] = event.text
    if (event.type === 'tool-call.ended')
      reported.calls[event.toolCallId] = event.outcome === 'completed' ? 'completed' : 'failed'
  }
  return reported
}

it('an editor gets the content of the log, live and replayed, for random output of an agent', async () => {
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
        await editor.until(() => editor.received.some((one) => one.sessionId === sessionId))
        await editor.agent.notify('session/cancel', { sessionId })
      }
      await turn
      await late.agent.request('session/load', { sessionId, ...place })
      const log = recorded(await logOf(world, sessionId))
      const { blocks, calls } = reportedTo(editor, sessionId)
      const written = Object.fromEntries(Object.keys(log.blocks).map((id) => [id, blocks[id]]))
      expect({ blocks: written, calls }).toEqual(log)
      expect(reportedTo(late, sessionId)).toEqual(log)
    }),
    { numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 40) },
  )
})
