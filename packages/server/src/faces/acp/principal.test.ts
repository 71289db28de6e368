import { expect, it, onTestFinished } from 'vitest'
import type { Principal } from '../../access/index.ts'
import { hostUnderTest, permission } from '../../core/host-under-test.ts'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { choosing, editorUnderTest, everything, wires } from './editor-under-test.ts'
import { logOf } from './face-under-test.ts'
import { createAcpFace, hostAccess } from './index.ts'

/** Tests an editor that acts for a person whom the program names. */
async function editorOf(more: (cwd: string) => Partial<Principal>) {
  const world = await hostUnderTest()
  const person = { id: 'ada', name: 'Ada' }
  const principal: Principal = {
    ...{ person, kind: 'embedded', id: 'ada', name: 'Ada', scopes: new Set(['read', 'prompt']) },
    ...more(world.cwd),
  }
  const line = wires()
  const access = hostAccess(world.host, principal)
  const { closed } = createAcpFace(line.face, { access, agent: 'scripted', version: '1' })
  const editor = editorUnderTest(line.editor)
  onTestFinished(async () => {
    await editor.leave()
    await world[Symbol.asyncDispose]()
  })
  await editor.introduce(everything)
  const open = (cwd = world.cwd) => editor.agent.request('session/new', { cwd, mcpServers: [] })
  return { world, editor, closed, open }
}

it('the log names the person, and only what the scopes and limits permit is done', async () => {
  const { world, editor, open } = await editorOf((cwd) => ({ limits: { folders: [{ folder: cwd }] } }))
  await expect(open(folderForTest())).rejects.toMatchObject({ data: { code: 'forbidden' } })
  const { sessionId } = await open()
  editor.answerPermission = choosing('allow_once')
  const text = JSON.stringify([permission('a.txt')])
  const turn = editor.agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  for await (const event of world.host.events(sessionId)) if (event.type === 'permission.requested') break
  const [prompt] = (await logOf(world, sessionId)).filter(({ type }) => type === 'prompt.submitted')
  expect(prompt).toMatchObject({ actor: { person: { id: 'ada', name: 'Ada' }, via: 'acp' } })
  await editor.agent.notify('session/cancel', { sessionId })
  expect(await turn).toMatchObject({ stopReason: 'cancelled' })
  expect(world.runs('a.txt')).toBe(0)
  const { sessions } = await editor.agent.request('session/list', {})
  expect(sessions.map((session) => session.sessionId)).toEqual([sessionId])
})

it('when the access ends, the editor is disconnected', async () => {
  const leaving = new AbortController()
  const { open, closed } = await editorOf(() => ({ signal: leaving.signal }))
  await open()
  leaving.abort()
  await closed
  await expect(open()).rejects.toThrow()
})
