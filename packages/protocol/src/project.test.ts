import { describe, expect, it } from 'vitest'
import { ProjectId, ProjectPatch, projectIdOf, projectName, projectOfId, projectRoot } from './project.ts'

describe('the id of a project', () => {
  it.each([
    { project: '/' },
    { project: '/w/"é漢\u{1f680}\\ud800 \u0000/.git' },
    { project: '/w', place: 'machine:a' },
    { project: `/${'long/'.repeat(800)}` },
    { project: 'C:\\code\\app\\.git' },
  ])('gives back its path and place ($project)', (at) => {
    const id = projectIdOf(at)
    expect(ProjectId.safeParse(id).success).toBe(true)
    expect(projectOfId(id)).toEqual(at)
  })

  it('differs for every path and place', () => {
    const all = [{ project: '/a' }, { project: '/a', place: 'b' }, { project: '/a/b' }, { project: '/A' }]
    expect(new Set(all.map(projectIdOf)).size).toBe(all.length)
  })

  it.each(['prj_', 'prj_x', 'prj_bnVsbA', `${projectIdOf({ project: '/a' })}x`, 'prj_W10', 'prj_WzFd'])(
    'is unknown if nothing made it: %s',
    (id) => {
      expect(projectOfId(id)).toBeUndefined()
    },
  )
})

it.each([
  ['/code/shop/.git', '/code/shop', 'shop'],
  ['/code/shop', '/code/shop', 'shop'],
  ['/srv/shop.git', '/srv/shop.git', 'shop'],
  ['/.git', '/', '/'],
  ['/', '/', '/'],
  ['/code/.gitty', '/code/.gitty', '.gitty'],
  ['C:\\code\\shop\\.git', 'C:\\code\\shop', 'shop'],
])('%s has the root %s and the name %s', (project, root, name) => {
  expect(projectRoot(project)).toBe(root)
  expect(projectName(project)).toBe(name)
})

describe('a change of a project', () => {
  const isValid = (patch: unknown) => ProjectPatch.safeParse(patch).success

  it.each([
    { name: 'Shop' },
    { base: 'feature/x-1' },
    { setup: 'npm ci\nnpm run build', check: 'npm test' },
    { copy: ['.env', 'config/*.local'], keepDays: 7 },
    { name: null, base: null, setup: null, check: null, copy: null, keepDays: null },
  ])('may be %o', (patch) => {
    expect(isValid(patch)).toBe(true)
  })

  it.each([
    {},
    { name: ' ' },
    { name: 'two\nlines' },
    { name: 'a\u202eb' },
    ...[
      '-x',
      '/x',
      'x/',
      '.x',
      'x.',
      'a..b',
      'a b',
      'a~1',
      'a:b',
      'a*',
      'x.lock',
      'a/.b',
      '@{-1}',
      '@',
      'a\\b',
    ].map((base) => ({ base })),
    { setup: 'rm\u200b -rf' },
    { setup: 'x'.repeat(4_001) },
    ...['/etc/passwd', '../x', 'a/../../x', '~/.ssh', 'C:\\x', 'a\\..\\..\\x', ''].map((path) => ({
      copy: [path],
    })),
    { copy: [] },
    { keepDays: 0 },
    { keepDays: 1.5 },
    { project: '/x' },
  ])('may not be %o', (patch) => {
    expect(isValid(patch)).toBe(false)
  })
})
