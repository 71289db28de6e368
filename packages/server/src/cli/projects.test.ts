import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { git } from '../workspace/hostile-repository-under-test.ts'
import { createHome } from './program-under-test.ts'

it('parley projects lists projects with branch and folder, and sessions --project lists the sessions of a project', async () => {
  await using home = createHome()
  const app = join(realpathSync(home.folder), 'app')
  const inner = join(app, 'inner')
  mkdirSync(inner, { recursive: true })
  git(app, 'init', '-q', '-b', 'trunk')
  for (const cwd of [app, inner]) await home.run(['run', 'demo', '--cwd', cwd, 'help'])
  await home.run(['run', 'demo', 'help'])
  const listed = await home.run(['projects'])
  expect(listed.stdout).toContain('BRANCH')
  expect(listed.stdout).toMatch(new RegExp(`^app +2 +0 +now +trunk +${app}$`, 'm'))
  const [first, second] = (await home.run(['projects', '--json'])).stdout.trim().split('\n')
  expect(JSON.parse(second ?? '')).toMatchObject({ name: 'app', sessions: 2, root: app })
  expect(JSON.parse(first ?? '')).toMatchObject({ sessions: 1 })

  const cwds = async (project: string) => {
    const { stdout } = await home.run(['sessions', '--json', '--project', project])
    return stdout
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line).cwd]))
      .toSorted()
  }
  expect(await cwds('APP')).toEqual([app, inner])
  expect(await cwds('app/inner')).toEqual([app, inner])
  expect(await cwds(JSON.parse(second ?? '').id)).toEqual([app, inner])
  expect(await cwds('.')).toEqual([realpathSync(home.folder)])
  expect(await home.run(['sessions', '--project', 'nope'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no project "nope"'),
  })
  expect(await home.run(['sessions', '--project', 'app', '--waiting'])).toMatchObject({ exitCode: 2 })
})
