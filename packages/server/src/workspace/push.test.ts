import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { peopleIn, person, repository } from './folder-changes-under-test.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { newRequestLink, pageOf } from './remote.ts'

/** A repository on the branch `fix`, with a commit that its remote does not have. */
function cloned() {
  const remote = join(folderForTest(), 'remote.git')
  const folder = repository({ 'a.txt': 'one\n' })
  git(folder, 'clone', '-q', '--bare', folder, remote)
  git(folder, 'remote', 'add', 'origin', remote)
  git(folder, 'fetch', '-q')
  git(folder, 'remote', 'set-head', 'origin', 'main')
  git(folder, 'checkout', '-qb', 'fix')
  const commitTo = (text: string, ...options: string[]) => {
    write(folder, { 'a.txt': text })
    git(folder, 'commit', '-qam', text.trim(), ...options)
    return head(folder)
  }
  return { folder, remote, commitTo, first: commitTo('two\n') }
}

const head = (folder: string, ref = 'HEAD') => git(folder, 'rev-parse', ref).trim()

describe('pushing', () => {
  it('sends the commit to the remote branch of the same name, makes that branch the upstream, and can be repeated', async () => {
    const { folder, remote, first } = cloned()
    const { push, branch } = peopleIn(folder, { trusted: true, env: person() })
    expect(await branch()).toEqual({
      ...{ branch: 'fix', commit: first, trusted: true },
      base: { branch: 'origin/main', ahead: 1, behind: 0, toMerge: 1 },
      remote: { name: 'origin', url: remote },
      author: { name: 'Ada', email: 'ada@example.com' },
    })
    const pushed = await push({ branch: 'fix', commit: first })
    expect(pushed).toMatchObject({ branch: 'fix', remote: 'origin', url: remote, commit: first })
    expect(head(remote, 'fix')).toBe(first)
    expect(git(folder, 'rev-parse', '--abbrev-ref', '@{upstream}').trim()).toBe('origin/fix')
    expect((await branch()).remote?.branch).toEqual({ commit: first, ahead: 0, behind: 0 })
    await push({ branch: 'fix', commit: first })
  })

  it('reports its progress while it runs, and then keeps only the lines of the remote', async () => {
    const { folder, remote, first } = cloned()
    write(remote, { 'hooks/pre-receive': '#!/bin/sh\nprintf "\\033[31mchecked\\033[0m\\n" >&2\n' })
    chmodSync(join(remote, 'hooks/pre-receive'), 0o755)
    const { changes, asked } = peopleIn(folder, { trusted: true, env: person() })
    const told: string[] = []
    const pushed = await changes.push(folder, {
      ...asked('branch.push', { branch: 'fix', commit: first }),
      progress: (text) => told.push(text),
    })
    expect(told.join('\n')).toMatch(/^Writing objects: +\d+% \(\d\/\d\)/m)
    expect(told.at(-1)).toMatch(/^remote: checked *$/m)
    expect(told.join('')).not.toContain('\u001b')
    expect(pushed.output).toBe('remote: checked')
  })

  it('replaces the remote branch only on request, and only at a commit that was seen', async () => {
    const { folder, remote, commitTo, first } = cloned()
    const { push } = peopleIn(folder, { trusted: true, env: person() })
    await push({ branch: 'fix', commit: first })
    const other = commitTo('three\n', '--amend')
    const behind = { code: 'conflict', details: { behind: true } }
    await expect(push({ branch: 'fix', commit: other })).rejects.toMatchObject(behind)
    await expect(
      push({ branch: 'fix', commit: other, replaces: head(folder, 'main') }),
    ).rejects.toMatchObject(behind)
    expect(head(remote, 'fix')).toBe(first)
    const pushed = await push({ branch: 'fix', commit: other, replaces: first })
    expect(pushed.replaced).toBe(first)
    expect(head(remote, 'fix')).toBe(other)
  })

  it('is refused for a base branch, for a commit that was not seen, without a remote and without trust', async () => {
    const { folder, remote, commitTo, first } = cloned()
    const { push, branch } = peopleIn(folder, { trusted: true, env: person() })
    await expect(
      peopleIn(folder, { env: person() }).push({ branch: 'fix', commit: first }),
    ).rejects.toMatchObject({
      code: 'forbidden',
      details: { untrusted: folder },
    })
    const second = commitTo('three\n')
    await expect(push({ branch: 'fix', commit: first })).rejects.toMatchObject({
      details: { commit: second },
    })
    git(folder, 'checkout', '-q', 'main')
    expect(await branch()).toMatchObject({ branch: 'main', isBase: true })
    await expect(push({ branch: 'main', commit: head(folder) })).rejects.toMatchObject({
      details: { base: 'main' },
    })
    git(folder, 'remote', 'set-head', 'origin', '--delete')
    git(folder, 'checkout', '-q', 'fix')
    git(folder, 'update-ref', 'refs/remotes/origin/fix', 'main')
    git(folder, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/fix')
    await expect(push({ branch: 'fix', commit: second })).rejects.toMatchObject({ details: { base: 'fix' } })
    git(folder, 'remote', 'remove', 'origin')
    await expect(push({ branch: 'fix', commit: second })).rejects.toMatchObject({ code: 'not_supported' })
    expect(git(remote, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\n')
  })

  it('runs the hooks of the repository, and reports why a hook or the remote refused', async () => {
    const { folder, remote, first } = cloned()
    const { push } = peopleIn(folder, { trusted: true, env: person() })
    const hooks = {
      [`${folder}/.git/hooks/pre-push`]: 'no secrets',
      [`${remote}/hooks/pre-receive`]: 'protected',
    }
    for (const [file, text] of Object.entries(hooks)) {
      write('/', { [file]: `#!/bin/sh\necho "${text}" >&2\ntest -e "$0.allows"\n` })
      chmodSync(file, 0o755)
      const refused = await push({ branch: 'fix', commit: first }).catch((error) => error)
      expect(refused.details.output).toContain(text)
      write('/', { [`${file}.allows`]: '' })
    }
    const { output } = await push({ branch: 'fix', commit: first })
    expect(output).toMatch(/no secrets\n.*protected/)
    expect(existsSync(join(remote, 'refs/heads/fix'))).toBe(true)
  })
})

describe('the address of a remote', () => {
  it.each([
    ['git@github.com:acme/app.git', 'https://github.com/acme/app/compare/main...a%2Fb%20c?expand=1'],
    [
      'https://ada:secret@github.com/acme/app',
      'https://github.com/acme/app/compare/main...a%2Fb%20c?expand=1',
    ],
    [
      'ssh://git@gitlab.example.com:2222/group/sub/app.git',
      'https://gitlab.example.com/group/sub/app/-/merge_requests/new?merge_request%5Bsource_branch%5D=a%2Fb%20c&merge_request%5Btarget_branch%5D=main',
    ],
    ['https://codeberg.org/acme/app.git', 'https://codeberg.org/acme/app/compare/main...a%2Fb%20c'],
    ['https://example.com/acme/app.git', undefined],
    ['/srv/git/app.git', undefined],
    ['https://github.com/acme', undefined],
    ['javascript:alert(1)/x', undefined],
    ['ext::sh -c touch% /tmp/x', undefined],
  ])('%s leads to the page %s', (url, link) => {
    const page = pageOf(url)
    expect(page && newRequestLink(page, 'a/b c', 'main')).toBe(link)
  })
})
