import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { ruleOf } from '../testing/store-samples.ts'
import { evaluate } from './permission-rules.ts'
import { covers } from './rule-pattern.ts'
import { simpleCommands } from './simple-commands.ts'

const bypass = stateAfter(
  { ...created, mode: 'bypass' },
  { type: 'session.configured', effective: { mode: 'bypass' } },
)
const noRemoving = ruleOf('no', { decision: 'deny', match: { command: 'rm *' } })
const verdict = (input: object) =>
  evaluate({ tool: 'Bash', kind: 'execute', input, readOnly: false }, bypass, [noRemoving]).decision

const spellings = [
  'rm -rf build',
  '/bin/rm -rf build',
  '../../bin/rm build',
  '\\rm build',
  '"rm" build',
  `r''m build`,
  `$'\\x72m' build`,
  'rm\tbuild',
  'rm$IFS-r build',
  'cd x && rm build',
  'true; rm build',
  'true || rm build',
  'ls | rm build',
  'sleep 1 & rm build',
  'ls\nrm build',
  '(rm build)',
  '{ rm build; }',
  '{rm,-rf,build}',
  'X=1 Y=2 rm build',
  'command rm build',
  'builtin exec rm build',
  'env -i PATH=/bin rm build',
  'sudo -u root rm build',
  'nohup nice -n 5 rm build',
  'timeout 5 /usr/bin/rm build',
  'ls | xargs rm -f',
  'find . -name x -exec rm {} +',
  'sh -c "rm build"',
  `bash -lc 'cd x && rm build'`,
  'eval "rm build"',
  'echo $(rm build)',
  'echo "now: $(rm build)"',
  'echo `rm build`',
  '>log rm build',
  '2>/dev/null rm build',
  'if true; then rm build; fi',
  'while true; do rm build; done',
  '! rm build',
  'busybox rm build',
  'sudo sh -c "env rm build"',
  'bash <<EOF\nrm build\nEOF',
  'r\\\nm build',
]

describe('a rule that refuses "rm *"', () => {
  it.each(spellings)('refuses %j', (command) => {
    expect(verdict({ command })).toBe('deny')
    expect(verdict({ command, cwd: '/elsewhere' })).toBe('deny')
  })

  it('refuses a command that is an array of words', () => {
    expect(verdict({ command: ['/bin/bash', '-lc', 'cd x && rm build'] })).toBe('deny')
    expect(verdict({ command: ['/bin/rm', 'build'] })).toBe('deny')
  })

  it.each([
    'ls',
    'echo rm x',
    'git commit -m "rm the old build"',
    'git rm x',
    'npm run rm',
    'farm x',
    'cat rm.txt',
    'grep -r "rm -rf" docs',
    'echo "rm x"',
  ])('does not refuse %j', (command) => {
    expect(verdict({ command })).toBe('allow')
  })
})

it.each(spellings.slice(1))('a grant of "rm *" covers %j only if it is a plain rm command', (command) => {
  const grant = { tool: 'Bash', match: { command: 'rm *' } }
  const isPlain = /^rm [^;&|`$<>\n()]*$/.test(command)
  expect(covers(grant, { tool: 'Bash', input: { command } })).toBe(isPlain)
})

it('terminates for every text, and finds a command between any two separators', () => {
  const piece = fc.constantFrom(
    ...`rm ls x ; & | && || ( ) { } $( \` ' " \\ < > << = $ # sh -c eval sudo env X=1`.split(' '),
    '\n',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.string(), (pieces, more) => {
      expect(simpleCommands(pieces.join(' ') + more)?.length ?? 0).toBeLessThan(10_000)
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(
      fc.constantFrom(';', '&&', '||', '|', '&', '\n', '('),
      fc.stringMatching(/^[a-z ./-]{0,20}$/),
      (separator, before) => {
        expect(simpleCommands(`${before} ${separator} rm -r x`)).toContain('rm -r x')
      },
    ),
  )
})

it('fails closed, and quickly, for a line that is nested too deeply', () => {
  const nested = (depth: number): string => (depth === 0 ? 'rm x' : `echo $(${nested(depth - 1)})`)
  expect(simpleCommands(nested(5))).toContain('rm x')
  expect(simpleCommands(nested(30))).toBeUndefined()
  expect(verdict({ command: nested(30) })).toBe('deny')
  for (const line of ['sudo '.repeat(20_000), '$('.repeat(20_000), '"`$('.repeat(9_000)])
    expect(verdict({ command: line })).toBe('deny')
})

it('accepts long lines that are not nested: the text of a file, a list of files', () => {
  const text = `cat > a <<EOF\n${'some words of a text\n'.repeat(5_000)}EOF`
  expect(verdict({ command: text })).toBe('allow')
  expect(verdict({ command: `${text}\nrm x` })).toBe('deny')
  const list = `xargs ls ${'src/some/file.ts '.repeat(2_000)}`
  expect(verdict({ command: list })).toBe('allow')
  expect(verdict({ command: `${list} | xargs ls ${'a '.repeat(500)} rm x` })).toBe('deny')
})
