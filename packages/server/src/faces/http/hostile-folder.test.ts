import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { setUpEverything } from '../../workspace/hostile-cases-under-test.ts'
import {
  createHostileFolder,
  plainGitRuns,
  ran,
  removeModel,
} from '../../workspace/hostile-repository-under-test.ts'
import { createWorkspace } from '../../workspace/index.ts'
import { serverUnderTest, testToken } from './server-under-test.ts'

afterAll(removeModel)

/** Follows a folder, calls `change` once it is watched, and resolves when a change is reported. */
async function newsOf(url: string, change: () => void): Promise<void> {
  const headers = { authorization: `Bearer ${testToken}`, accept: 'text/event-stream' }
  const { body } = await fetch(url, { headers })
  if (!body) throw new Error('The stream has no body.')
  let received = ''
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    if (!received.includes('event: watching') && (received + text).includes('event: watching')) change()
    received += text
    if (received.includes('event: changed')) return
  }
  throw new Error('The stream ended.')
}

it('no route runs anything from a folder that is not trusted', async () => {
  using place = createHostileFolder(setUpEverything)
  const workspace = createWorkspace({ env: { PATH: process.env.PATH, HOME: place.root } })
  const host = await createHost({
    adapters: [createScriptedAdapter()],
    store: createMemoryStore(),
    commitOf: workspace.commit,
  })
  const server = await serverUnderTest(host, { workspace })
  try {
    for (const cwd of [place.folder, join(place.folder, 'inner'), join(place.folder, 'app')]) {
      const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd } })
      expect(made.status).toBe(201)
      const session = `/api/sessions/${made.body.id}`
      const base = (made.body.startCommit as string | undefined) ?? 'HEAD'
      for (const path of [
        `/api/folders?q=${encodeURIComponent(`${cwd}/`)}`,
        `/api/files?cwd=${encodeURIComponent(cwd)}&q=a`,
        `${session}/files?q=a`,
        `${session}/changes`,
        `${session}/changes?base=${base}`,
        ...['a.txt', 'new.txt', 'f0.txt', 'inner', 'inner/a.txt', '.gitattributes'].map(
          (file) => `${session}/changes/patch?path=${encodeURIComponent(file)}`,
        ),
        ...['', '&all=true'].flatMap((all) => [
          `${session}/tree?path=${all}`,
          `${session}/tree?path=inner${all}`,
          `${session}/file?path=a.txt${all}`,
          `${session}/file?path=.git/config${all}`,
        ]),
        `/api/agents/scripted/conversations?cwd=${encodeURIComponent(cwd)}`,
        session,
        '/api/sessions',
      ])
        expect((await server.ask(path)).status, path).toBeLessThan(500)
      await newsOf(`http://127.0.0.1:${server.port}${session}/changes`, () =>
        appendFileSync(join(cwd, 'a.txt'), 'more\n'),
      )
      expect(ran(place), cwd).toBe(false)
    }
    expect(plainGitRuns(place, 'git diff')).toBe(true)
  } finally {
    await server.close()
    await host.close()
  }
})
