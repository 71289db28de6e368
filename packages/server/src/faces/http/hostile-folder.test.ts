import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BranchInfo, type CommandInput, ParleyError } from '@parley/protocol'
import { afterAll, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { folderCommands } from '../../core/folder-changes.ts'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFolderChanges } from '../../workspace/folder-changes.ts'
import { setUpEverything } from '../../workspace/hostile-cases-under-test.ts'
import {
  createHostileFolder,
  plainGitRuns,
  ran,
  removeModel,
} from '../../workspace/hostile-repository-under-test.ts'
import { createWorkspace, type Workspace } from '../../workspace/index.ts'
import { createSessionFolder } from '../../workspace/session-folder.ts'
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

const scopes = ['turn', 'session', 'commit', 'base']

/** Has a turn with its snapshots, in which the agent changes a file. */
async function turnIn(host: Host, id: string): Promise<void> {
  const effect = { writeFile: { path: 'a.txt', text: 'by the agent\n' } }
  const text = JSON.stringify([{ type: 'tool', name: 'Bash', kind: 'execute', effect }])
  await host.command(id, { type: 'prompt.submit', commandId: 'turn', text })
  const after = async () => (await host.state(id)).snapshots?.turns.at(-1)?.after
  await expect.poll(after, { timeout: 20_000 }).toBeDefined()
}

/** Sends every command that changes the folder, its repository or other machines. A refusal is an accepted result. */
async function writeIn(host: Host, id: string, cwd: string, workspace: Workspace): Promise<void> {
  const seen = async () => {
    const found = await workspace.changes({ path: cwd, trusted: false }, 'HEAD').catch(() => undefined)
    return (found?.files ?? []).flatMap(({ path, blob }) => (blob === undefined ? [] : [{ path, blob }]))
  }
  const { commit = '0'.repeat(40), branch = 'fix' } = await host.branch(id).catch(() => ({}) as BranchInfo)
  for (const type of folderCommands)
    for (const file of (await seen()).slice(0, 2)) {
      const files = [file]
      const fields = {
        ...{ base: 'HEAD', files, discarded: 1, message: 'x', branch, commit, title: 'x' },
        ...{ into: 'side', onto: commit },
      }
      const wanted: readonly string[] = {
        'changes.discard': ['base', 'files'],
        'changes.restore': ['discarded'],
        'changes.stage': ['files'],
        'changes.unstage': ['files'],
        'changes.commit': ['message', 'files'],
        'branch.push': ['branch', 'commit'],
        'worktree.fill': [],
        'branch.merge': ['branch', 'commit', 'into', 'onto'],
        'pull-request.open': ['title'],
      }[type]
      const given = Object.fromEntries(Object.entries(fields).filter(([name]) => wanted.includes(name)))
      const command = { type, commandId: `${type} ${file.path}`, ...given } as CommandInput
      const sent = await host.command(id, command).catch((error: unknown) => error)
      if (sent instanceof Error) expect(sent, `${type} ${sent.message}`).toBeInstanceOf(ParleyError)
    }
}

it('no route runs anything from a folder that is not trusted', async () => {
  using place = createHostileFolder(setUpEverything)
  const env = { PATH: process.env.PATH, HOME: place.root }
  const sessionFolder = createSessionFolder({ env, root: join(place.root, 'shadows') })
  const workspace = createWorkspace({ env, folders: sessionFolder })
  const host = await createHost({
    adapters: [createScriptedAdapter()],
    store: createMemoryStore(),
    commitOf: workspace.commit,
    sessionFolder,
    folderChanges: createFolderChanges({ env, folders: sessionFolder }),
  })
  const server = await serverUnderTest(host, { workspace })
  try {
    for (const cwd of [place.folder, join(place.folder, 'inner'), join(place.folder, 'app')]) {
      const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd } })
      expect(made.status).toBe(201)
      const session = `/api/sessions/${made.body.id}`
      await turnIn(host, made.body.id as string)
      const base = (made.body.startCommit as string | undefined) ?? 'HEAD'
      for (const path of [
        `/api/folders?q=${encodeURIComponent(`${cwd}/`)}`,
        `/api/files?cwd=${encodeURIComponent(cwd)}&q=a`,
        `${session}/files?q=a`,
        `${session}/changes`,
        `${session}/changes?base=${base}`,
        ...scopes.map((scope) => `${session}/changes?scope=${scope}`),
        ...scopes.map((scope) => `${session}/changes/patch?path=a.txt&scope=${scope}`),
        ...['a.txt', 'new.txt', 'f0.txt', 'inner', 'inner/a.txt', '.gitattributes'].map(
          (file) => `${session}/changes/patch?path=${encodeURIComponent(file)}`,
        ),
        ...['', '&all=true'].flatMap((all) => [
          `${session}/tree?path=${all}`,
          `${session}/tree?path=inner${all}`,
          `${session}/file?path=a.txt${all}`,
          `${session}/file?path=.git/config${all}`,
        ]),
        ...['staged', 'unstaged'].flatMap((side) => [
          `${session}/changes?side=${side}`,
          `${session}/changes/patch?path=a.txt&side=${side}`,
        ]),
        `${session}/branch`,
        `${session}/merge`,
        `${session}/pull-request`,
        `/api/agents/scripted/conversations?cwd=${encodeURIComponent(cwd)}`,
        session,
        '/api/sessions',
      ])
        expect((await server.ask(path)).status, path).toBeLessThan(500)
      await newsOf(`http://127.0.0.1:${server.port}${session}/changes`, () =>
        appendFileSync(join(cwd, 'a.txt'), 'more\n'),
      )
      await writeIn(host, made.body.id as string, cwd, workspace)
      expect(ran(place), cwd).toBe(false)
    }
    expect(plainGitRuns(place, 'git diff')).toBe(true)
  } finally {
    await server.close()
    await host.close()
  }
})
