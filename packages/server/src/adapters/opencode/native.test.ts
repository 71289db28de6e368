import { expect, it } from 'vitest'
import { ignored, ignoredFrames, ignoredParts, type NativePartType, type NativeType } from './native.ts'
import { handlers, translate } from './translate.ts'
import { partHandlers } from './translate-message.ts'
import { initialState, type TranslateState, withTurn } from './translate-state.ts'

/** Every event of the SDK's union. An extra or a missing name does not compile. */
const every: Record<NativeType, true> = {
  'models-dev.refreshed': true,
  'integration.updated': true,
  'integration.connection.updated': true,
  'catalog.updated': true,
  'session.created': true,
  'session.updated': true,
  'session.deleted': true,
  'message.updated': true,
  'message.removed': true,
  'message.part.updated': true,
  'message.part.removed': true,
  'session.next.agent.switched': true,
  'session.next.model.switched': true,
  'session.next.moved': true,
  'session.next.prompted': true,
  'session.next.prompt.admitted': true,
  'session.next.context.updated': true,
  'session.next.synthetic': true,
  'session.next.shell.started': true,
  'session.next.shell.ended': true,
  'session.next.step.started': true,
  'session.next.step.ended': true,
  'session.next.step.failed': true,
  'session.next.text.started': true,
  'session.next.text.delta': true,
  'session.next.text.ended': true,
  'session.next.reasoning.started': true,
  'session.next.reasoning.delta': true,
  'session.next.reasoning.ended': true,
  'session.next.tool.input.started': true,
  'session.next.tool.input.delta': true,
  'session.next.tool.input.ended': true,
  'session.next.tool.called': true,
  'session.next.tool.progress': true,
  'session.next.tool.success': true,
  'session.next.tool.failed': true,
  'session.next.retried': true,
  'session.next.compaction.started': true,
  'session.next.compaction.delta': true,
  'session.next.compaction.ended': true,
  'session.next.revert.staged': true,
  'session.next.revert.cleared': true,
  'session.next.revert.committed': true,
  'message.part.delta': true,
  'session.diff': true,
  'session.error': true,
  'installation.updated': true,
  'installation.update-available': true,
  'file.edited': true,
  'reference.updated': true,
  'permission.v2.asked': true,
  'permission.v2.replied': true,
  'plugin.added': true,
  'project.directories.updated': true,
  'file.watcher.updated': true,
  'pty.created': true,
  'pty.updated': true,
  'pty.exited': true,
  'pty.deleted': true,
  'question.v2.asked': true,
  'question.v2.replied': true,
  'question.v2.rejected': true,
  'todo.updated': true,
  'lsp.updated': true,
  'permission.asked': true,
  'permission.replied': true,
  'tui.prompt.append': true,
  'tui.command.execute': true,
  'tui.toast.show': true,
  'tui.session.select': true,
  'mcp.tools.changed': true,
  'mcp.browser.open.failed': true,
  'command.executed': true,
  'project.updated': true,
  'session.status': true,
  'session.idle': true,
  'question.asked': true,
  'question.replied': true,
  'question.rejected': true,
  'session.compacted': true,
  'vcs.branch.updated': true,
  'workspace.ready': true,
  'workspace.failed': true,
  'workspace.status': true,
  'worktree.ready': true,
  'worktree.failed': true,
  'server.connected': true,
  'global.disposed': true,
  'server.instance.disposed': true,
}

const everyPart: Record<NativePartType, true> = {
  text: true,
  subtask: true,
  reasoning: true,
  file: true,
  tool: true,
  'step-start': true,
  'step-finish': true,
  snapshot: true,
  patch: true,
  agent: true,
  retry: true,
  compaction: true,
}

const begun = (): TranslateState => withTurn(initialState({ root: 'ses_1' }), 1)

it('has the 89 events of the union and its 12 parts', () => {
  expect(Object.keys(every)).toHaveLength(89)
  expect(Object.keys(everyPart)).toHaveLength(12)
})

it.each(Object.keys(every))('handles %s, or ignores it with a reason', (type) => {
  const reason = (ignored as Record<string, string>)[type]
  expect(type in handlers).toBe(reason === undefined)
  if (reason === undefined) return
  expect(reason).toMatch(/\w+ \w+/)
  expect(translate(begun(), { type, properties: { sessionID: 'ses_1' } }).outputs).toEqual([])
})

it.each(Object.keys(everyPart))('handles the part %s, or ignores it with a reason', (type) => {
  const reason = (ignoredParts as Record<string, string>)[type]
  expect(type in partHandlers).toBe(reason === undefined)
  if (reason === undefined) return
  expect(reason).toMatch(/\w+ \w+/)
  const part = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1', type }
  const event = { type: 'message.part.updated', properties: { sessionID: 'ses_1', part } }
  expect(translate(begun(), event).outputs).toEqual([])
})

it.each(Object.keys(ignoredFrames))('ignores the frame %s', (type) => {
  expect(translate(begun(), { type, properties: {} }).outputs).toEqual([])
})

const properties = { sessionID: 'ses_1' }
it.each([
  ['an unknown event', { type: 'session.dreamt', properties }],
  ['an event without a type', { properties }],
  ['a string', 'hello'],
  ['undefined', undefined],
  ['a message without its contents', { type: 'message.updated', properties }],
  ['a part without its contents', { type: 'message.part.updated', properties }],
  ['an unknown part', part({ type: 'hologram' })],
  ['an unknown status', { type: 'session.status', properties: { ...properties, status: {} } }],
  [
    'a delta of an unknown field',
    { type: 'message.part.delta', properties: { ...properties, field: 'smell' } },
  ],
])('records %s unchanged', (_, event) => {
  const { outputs } = translate(begun(), event)
  expect(outputs).toMatchObject([{ type: 'agent.unrecognised', native: event }])
})

function part(fields: object) {
  const ids = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' }
  return { type: 'message.part.updated', properties: { ...properties, part: { ...ids, ...fields } } }
}

it('reports nothing about other conversations', () => {
  const status = { type: 'session.status', properties: { sessionID: 'ses_2', status: { type: 'idle' } } }
  expect(translate(begun(), status).outputs).toEqual([])
})
