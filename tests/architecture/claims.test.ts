import { describe, expect, it } from 'vitest'
import { filesIn, isTest, protocol, server, sourceFiles, textOf, web } from './workspace.ts'

/** A sentence of ARCHITECTURE.md that can be checked against the text of the files. */
type Claim = {
  readonly claim: string
  /** The files that must not match `forbidden`; their comments are ignored. */
  readonly files: (file: string) => boolean
  readonly forbidden: RegExp
  readonly instead: string
  /** Files for which the claim is not true yet. The list may only shrink. */
  readonly exceptions: readonly string[]
}

const clock: Claim = {
  claim: 'core has no clock of its own',
  files: (file) => file.startsWith(`${server}/core/`),
  forbidden: /\b(Date\.now|new Date\(|set(Timeout|Interval|Immediate)\b|performance\.)/,
  instead: 'use the clock that is passed in',
  exceptions: [],
}

const environment: Claim = {
  claim: 'only the CLI reads the environment',
  files: (file) => !file.startsWith(`${server}/cli/`) && !file.startsWith(`${server}/testing/`),
  forbidden: /\bprocess\.env\b/,
  instead: 'take the variables as an option; cli/start.ts passes process.env',
  exceptions: [`${server}/adapters/opencode/server.ts`],
}

const agents = agentFolders().filter((name) => name !== 'acp' && name !== 'scripted')

const agentNames: Claim = {
  claim: 'no file outside adapters/ names an agent',
  files: (file) => !file.startsWith(`${server}/adapters/`) && !file.startsWith(`${server}/testing/`),
  forbidden: new RegExp(`['"\`/](${agents.join('|')})['"\`/]`),
  instead: 'the adapter declares what is special about its agent, as a capability or a field of the port',
  exceptions: [`${server}/faces/ipc/tasks.ts`],
}

const actsOnImport: Claim = {
  claim: 'a module of the console does nothing when it is imported',
  files: (file) => file.startsWith(`${web}/`) && !entryModules.includes(file),
  forbidden: /^(if|for|while|try|void|await|new|[\w.]+\()/m,
  instead: 'export a function and call it from app/main.tsx, or from the component that needs it',
  exceptions: [
    `${web}/base/clock.ts`,
    `${web}/base/route.ts`,
    `${web}/composer/dropped-files.tsx`,
    `${web}/parts/toasts.tsx`,
    `${web}/request/card-keys.ts`,
    `${web}/session-data/seen.ts`,
  ],
}

/** Modules with side effects at load time: the page, its sign-in pages and a worker. */
const entryModules = [
  `${web}/app/main.tsx`,
  `${web}/parts/code/highlight.worker.ts`,
  `${web}/sign-in/pair-page.tsx`,
  `${web}/sign-in/sign-in-page.tsx`,
]

const anyZod: Claim = {
  claim: 'the types of the protocol hold with any zod 4',
  files: (file) => file.startsWith(`${protocol}/`),
  forbidden: /\.discriminatedUnion\(/,
  instead: 'use taggedUnion: the declarations of zod 4.0 and 4.1 differ for this function',
  exceptions: [`${protocol}/tagged-union.ts`],
}

const textSizes: Claim = {
  claim: 'text of the console has a size that the theme names',
  files: (file) => file.startsWith(`${web}/`),
  forbidden: /\btext-(?:2xs|lg|\d?xl|\[[\d.]+(?:px|r?em)\])(?![\w-])/,
  instead: 'use text-xs, text-sm, text-base, text-title or text-code; app/style.css says for what',
  exceptions: [],
}

describe.each([clock, environment, agentNames, actsOnImport, anyZod, textSizes])('$claim', (claim) => {
  const files = sourceFiles().filter((file) => claim.files(file) && !file.startsWith('examples/'))
  const found = files.filter((file) => violates(claim, textOf(file)))

  it('in every file that is not an exception', () => {
    expect(files.length).toBeGreaterThan(30)
    expect(
      found.filter((file) => !claim.exceptions.includes(file)),
      claim.instead,
    ).toEqual([])
  })

  it('and every exception is still needed', () => {
    const stale = claim.exceptions.filter((file) => !found.includes(file))
    expect(stale, 'remove these files from the exceptions of the claim').toEqual([])
  })
})

describe('a violation is found:', () => {
  it.each([
    [clock, 'const at = Date.now()'],
    [clock, 'setTimeout(close, 10)'],
    [environment, 'const { HOME } = process.env'],
    [agentNames, "if (agent === 'claude') return"],
    [agentNames, "await import('../adapters/codex/index.ts')"],
    [actsOnImport, "const store = createStore()\naddEventListener('storage', read)"],
    [actsOnImport, 'void load().then(show)'],
    [anyZod, "export const Frame = z.discriminatedUnion('type', [])"],
    [textSizes, '<p className="text-[0.8125rem] leading-5">'],
    [textSizes, '<h1 className="flex text-2xl">'],
  ])('$claim', (claim, text) => expect(violates(claim, text)).toBe(true))

  it.each([
    [clock, '/** Like Date.now(), but passed in. */\nconst at = clock.now()'],
    [actsOnImport, 'export function start() {\n  void load()\n}'],
  ])('unless it is allowed: $claim', (claim, text) => expect(violates(claim, text)).toBe(false))
})

function violates({ forbidden }: Claim, text: string): boolean {
  return forbidden.test(text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*/gm, ''))
}

function agentFolders(): string[] {
  const files = filesIn(`${server}/adapters`).filter((file) => !isTest(file))
  return [
    ...new Set(
      files.flatMap((file) => file.slice(server.length).match(/^\/adapters\/([\w-]+)\//)?.[1] ?? []),
    ),
  ]
}
