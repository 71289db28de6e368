import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, person, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { KilledProgram, killSeed } from './kill-under-test.ts'

const kills = Number(process.env.PARLEY_FOLDER_KILLS ?? 5)

it(`after a kill at any moment, repeating a discard, a commit and a merge completes each of them exactly once (seed ${killSeed})`, async () => {
  const root = join(folderForTest(), 'shadows')
  const main = repository({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
  const folder = join(folderForTest(), 'work')
  git(main, 'worktree', 'add', '-q', '-b', 'work', folder)
  const env = { ...process.env, HOME: person().HOME }
  const { see, discard, restore, commit, merge } = peopleIn(folder, { env, root })
  const count = () => Number(git(folder, 'rev-list', '--count', 'HEAD'))
  const killed = new KilledProgram({ program: './change-kill-under-test.ts', folders: [main, folder], env })
  for (let kill = 0; kill <= kills; kill++) {
    write(folder, { 'a.txt': `discarded ${kill}\n`, 'b.txt': `committed ${kill}\n` })
    git(folder, 'add', 'a.txt')
    git(main, 'commit', '-q', '--allow-empty', '-m', 'Meanwhile')
    const onto = git(main, 'rev-parse', 'HEAD').trim()
    const files = [await see('a.txt'), await see('b.txt')] as const
    const before = count()
    const id = `kill ${kill}`
    await killed.run([root, folder, id, JSON.stringify(files), onto])

    const discarded = await discard([files[0]], 'HEAD', id)
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one\n')
    const made = await commit({ message: id, files: [files[1]] }, id)
    expect([count(), git(folder, 'log', '-1', '--format=%s').trim()]).toEqual([before + 1, id])
    expect(git(folder, 'status', '--porcelain')).toBe('')
    const given = { branch: 'work', commit: made.commit, into: 'main', onto, folder: main }
    await merge(given, `${id} merge`)
    expect(git(main, 'log', '-1', '--format=%P').trim()).toBe(`${onto} ${made.commit}`)
    expect([git(main, 'status', '--porcelain'), readFileSync(join(main, 'b.txt'), 'utf8')]).toEqual([
      '',
      `committed ${kill}\n`,
    ])
    await restore(discarded)
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe(`discarded ${kill}\n`)
    git(folder, 'checkout', '-q', 'HEAD', '--', 'a.txt')
  }
  expect(git(folder, 'fsck', '--no-dangling').trim()).toBe('')
})
