import { afterAll, describe, expect, it } from 'vitest'
import { hookCases, hostileCases } from './hostile-cases-under-test.ts'
import {
  createHostileFolder,
  type HostileCase,
  plainGitRuns,
  programLikeKeys,
  ran,
  removeModel,
} from './hostile-repository-under-test.ts'
import { harmlessKeys, hostileKeys } from './hostile-settings-under-test.ts'
import { createWorkspace } from './index.ts'

afterAll(removeModel)

/** Calls every function of the workspace in an untrusted folder. A refusal is an accepted result. */
async function lookAt(path: string, env: Record<string, string | undefined>): Promise<string[]> {
  const workspace = createWorkspace({ env })
  const folder = { path, trusted: false }
  const changes = await workspace.changes(folder, 'HEAD').catch(() => undefined)
  await Promise.allSettled([
    workspace.findFolders(`${path}/`, 10),
    workspace.findFiles(path, 'a', 10),
    workspace.findFilesIn(path, 'a', 10),
    workspace.commit(path),
    workspace.patch(folder, 'a.txt', 'HEAD'),
    workspace.patch(folder, 'new.txt', 'HEAD'),
    new Promise<void>((resolve) => {
      const leave = workspace.watch(folder, {
        watching: () => {
          leave()
          resolve()
        },
        changed: () => {},
      })
    }),
  ])
  return changes?.files.map(({ path }) => path) ?? []
}

describe('inspecting an untrusted folder runs nothing from it', () => {
  const everything = hostileCases.map((one) => [one.name, one] as const)
  it.each(everything)('%s', async (_, { setUp, env, proof, unreadable = false }: HostileCase) => {
    using place = createHostileFolder(setUp)
    const given = env?.(place) ?? {}
    const files = await lookAt(place.folder, { PATH: process.env.PATH, HOME: place.root, ...given })
    expect(ran(place)).toBe(false)
    if (!unreadable && place.folder.endsWith('/repository')) expect(files).toContain('a.txt')
    if (proof !== undefined) expect(plainGitRuns(place, proof, given), 'plain git runs it').toBe(true)
  })

  it.each(hookCases)('plain git runs the hook $name', ({ setUp, proof }) => {
    using place = createHostileFolder(setUp)
    expect(plainGitRuns(place, proof)).toBe(true)
  })

  it('the list of settings covers every key of the installed git that names a program', () => {
    const known = hostileKeys.map(({ key }) => key.toLowerCase().replace(/\.(.+)\./, '.*.'))
    const missing = programLikeKeys().filter((key) => {
      const plain = key
        .toLowerCase()
        .replace(/\.(.+)\./, '.*.')
        .replace(/<[^>]+>|\*$/, '*')
      return (
        !harmlessKeys.has(key) &&
        !known.some((one) => one === plain || (plain.endsWith('.*') && one.startsWith(plain.slice(0, -1))))
      )
    })
    expect(missing).toEqual([])
  })
})
