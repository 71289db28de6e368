import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readingOf, readsOutside, shellTokens, withoutShell } from './shell-command.ts'

describe('a command without its shell', () => {
  it.each([
    [`/bin/bash -lc 'touch a.txt'`, 'touch a.txt'],
    [`/bin/bash -lc "printf \\"once\\\\n\\" > note.txt"`, 'printf "once\\n" > note.txt'],
    ['/bin/bash -lc cat', 'cat'],
    [`/usr/bin/zsh -c 'a && b'`, 'a && b'],
    [`bash -lc "echo \\$HOME"`, 'echo $HOME'],
    [`python3 -c 'print(1)'`, `python3 -c 'print(1)'`],
    ['/bin/bash -lc', '/bin/bash -lc'],
    ['/opt/homebrew/bin/bash -lc ls', 'ls'],
    ['./bash -lc ls', './bash -lc ls'],
    ['/somewhere/bash -lc ls', '/somewhere/bash -lc ls'],
    [`/bin/bash -lc 'one' 'two'`, `/bin/bash -lc 'one' 'two'`],
  ])('%s runs %s', (native, command) => {
    expect(withoutShell(native)).toBe(command)
  })
})

describe('the words of a command line', () => {
  it('are split as in a shell', () => {
    expect(shellTokens(`rg -n 'a b' "c \\"d\\"" e\\ f|wc -l`)).toEqual([
      { word: 'rg' },
      { word: '-n' },
      { word: 'a b' },
      { word: 'c "d"' },
      { word: 'e f' },
      { operator: '|' },
      { word: 'wc' },
      { word: '-l' },
    ])
  })

  it.each([
    'echo $HOME',
    'echo "$(id)"',
    'a `b`',
    'cat <a',
    'cat >a',
    '(a)',
    'a # b',
    'a & b',
    'a\nb',
    "a 'b",
    'a {b,c}',
    'a b*',
    'a b?',
    'a b[c]',
    'a ~',
    'a ~b/c',
    'a b=~',
    'a ^b',
    'a !b',
    'a =b',
    'a "b\\\nc"',
  ])('are undefined for %j', (line) => {
    expect(shellTokens(line)).toBeUndefined()
  })
})

describe('the kind of a command that only reads', () => {
  it.each([
    ['cat a.txt', 'read'],
    [`sed -n '1,20p' src/a.ts`, 'read'],
    ['cd src && ls -la', 'search'],
    [`rg -n "one two" src | head -20`, 'search'],
    [`find . -name '*.ts' -type f`, 'search'],
    ['find . -name \\*.ts', 'search'],
    [`rg "[a-z]+ ?=" 'src/~old' "x^2!"`, 'search'],
    ['ls --color=never', 'search'],
    ['pwd; wc -l a b', 'read'],
  ])('is known for %s', (command, kind) => {
    expect(readingOf(command)).toBe(kind)
  })

  it.each([
    '',
    'rm -rf .',
    'cat a > b',
    'cat a; rm b',
    'cat a && ./cat',
    'ls | xargs rm',
    'find . -delete',
    'find . -exec rm {} +',
    'find . -fprintf out x',
    'rg --pre ./run x',
    'rg -nz x',
    `sed -i 's/a/b/' c`,
    `sed -n '1,2w out' c`,
    `sed -n '1p' -i c`,
    'echo $(rm a)',
    'FOO=1 cat a',
    '/tmp/cat a',
    'git status',
    'sort -o out in',
    'cat a &',
    'cat a\nrm b',
    'cat a \nrm b',
    'ls . \n touch b',
    'ls \f rm',
    'rg foo *',
    'find . -dele*',
    'find . -[d]elete',
    'find . -delet?',
    'find . -{delete,print}',
    'find . "-del\\\nete"',
    'find -f* out',
    'rg --pr* x',
    'rg -[z] x',
    'rg -0z x',
    'ls ~',
    'cat src/*.ts',
    `sed -n '1,20p' src/*.ts`,
    'c?t a',
    'toString x',
    '|| cat',
  ])('is undefined for %j', (command) => {
    expect(readingOf(command)).toBeUndefined()
  })
})

describe('a command that only reads', () => {
  const place = mkdtempSync(join(tmpdir(), 'parley-reads-'))
  const cwd = join(place, 'project')
  beforeAll(() => {
    mkdirSync(join(cwd, 'src'), { recursive: true })
    writeFileSync(join(place, 'secret'), '')
    writeFileSync(join(cwd, 'src', 'a'), '')
    symlinkSync(join(place, 'secret'), join(cwd, 'src', 'link'))
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  it.each([
    'cat src/a',
    'cat ./src/../src/a',
    `cat ${cwd}/src/a`,
    'cd src && cat a',
    'rg "/api/" src',
    'grep -n "../x" src/a',
    'ls | head -5',
    'echo /etc/hosts',
  ])('%s stays in the folder', (command) => {
    expect(readsOutside(command, cwd, cwd)).toBe(false)
  })

  it.each([
    'cat ../secret',
    `cat ${place}/secret`,
    'cat /etc/hosts',
    'cat src/link',
    'cd src && cat link',
    'cd .. && cat secret',
    'cd && cat secret',
    'cd - && ls',
    'cd src && cat ../../secret',
    'ls / | head -5',
    'grep -R x .',
    'rg -L x',
    'find -L . -name x',
    'grep -f/etc/hosts x',
    'grep --file=../secret x',
  ])('%s may read outside the folder', (command) => {
    expect(readingOf(command)).toBeDefined()
    expect(readsOutside(command, cwd, cwd)).toBe(true)
  })

  it('reads outside the folder if it runs there; a command that does more than read is not reported', () => {
    expect(readsOutside('ls', place, cwd)).toBe(true)
    expect(readsOutside('ls', undefined, cwd)).toBe(true)
    expect(readsOutside('make', place, cwd)).toBe(false)
  })
})
