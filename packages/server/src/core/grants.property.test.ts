import type { PermissionRule, RulePattern, ToolKind } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { evaluate, optionsFor, type Subject } from './permission-rules.ts'

/** Inputs as the agents send them; the fields in `free` may have any value. */
type Shape = {
  readonly agent: string
  readonly tool: string
  readonly kind: ToolKind
  readonly input: Readonly<Record<string, fc.Arbitrary<unknown>>>
  readonly free?: readonly string[]
}

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('make', 'rm *', 'a\\b', '*', 'true', 'npm test && x', './src/a.ts'),
)
const anyJson = fc.oneof(
  text,
  fc.boolean(),
  fc.integer(),
  fc.constant(null),
  fc.array(text, { maxLength: 2 }),
)
const env = fc.dictionary(fc.constantFrom('PATH', 'LD_PRELOAD', 'X'), text, {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
})

const shapes: readonly Shape[] = [
  // Claude
  {
    agent: 'claude',
    tool: 'Bash',
    kind: 'execute',
    input: { command: text, description: text, timeout: fc.integer() },
    free: ['description', 'timeout'],
  },
  {
    agent: 'claude',
    tool: 'Bash',
    kind: 'execute',
    input: { command: text, run_in_background: fc.boolean(), dangerouslyDisableSandbox: fc.boolean() },
  },
  {
    agent: 'claude',
    tool: 'Write',
    kind: 'edit',
    input: { file_path: text, content: text },
    free: ['file_path', 'content'],
  },
  {
    agent: 'claude',
    tool: 'Edit',
    kind: 'edit',
    input: { file_path: text, old_string: text, new_string: text, replace_all: fc.boolean() },
    free: ['file_path', 'old_string', 'new_string', 'replace_all'],
  },
  {
    agent: 'claude',
    tool: 'Read',
    kind: 'read',
    input: { file_path: text, offset: fc.integer() },
    free: ['file_path', 'offset'],
  },
  {
    agent: 'claude',
    tool: 'WebFetch',
    kind: 'fetch',
    input: { url: fc.webUrl(), prompt: text },
    free: ['prompt'],
  },
  {
    agent: 'claude',
    tool: 'Agent',
    kind: 'subagent',
    input: { description: text, prompt: text, subagent_type: text },
    free: ['description', 'prompt'],
  },
  { agent: 'claude', tool: 'mcp__files__write', kind: 'other', input: { path: text, content: text } },
  { agent: 'claude', tool: 'Skill', kind: 'other', input: { skill: text, args: text } },
  // Codex
  { agent: 'codex', tool: 'Bash', kind: 'execute', input: { command: text } },
  { agent: 'codex', tool: 'Bash', kind: 'read', input: { command: text, cwd: text } },
  {
    agent: 'codex',
    tool: 'Bash',
    kind: 'execute',
    input: { command: text, cwd: text, additionalPermissions: env, environmentId: text },
  },
  { agent: 'codex', tool: 'write_stdin', kind: 'execute', input: { command: text } },
  {
    agent: 'codex',
    tool: 'apply_patch',
    kind: 'edit',
    input: { paths: fc.array(text), changes: fc.array(env) },
    free: ['paths', 'changes'],
  },
  {
    agent: 'codex',
    tool: 'apply_patch',
    kind: 'edit',
    input: { paths: fc.array(text), grantRoot: text },
    free: ['paths'],
  },
  { agent: 'codex', tool: 'apply_patch', kind: 'delete', input: { paths: fc.array(text), changes: anyJson } },
  { agent: 'codex', tool: 'network', kind: 'fetch', input: { host: fc.domain(), protocol: text } },
  {
    agent: 'codex',
    tool: 'request_permissions',
    kind: 'other',
    input: { network: anyJson, fileSystem: anyJson },
  },
  // OpenCode
  {
    agent: 'opencode',
    tool: 'bash',
    kind: 'execute',
    input: { command: text, workdir: text, timeout: fc.integer(), description: text },
    free: ['timeout', 'description'],
  },
  {
    agent: 'opencode',
    tool: 'write',
    kind: 'edit',
    input: { filePath: text, content: text },
    free: ['filePath', 'content'],
  },
  { agent: 'opencode', tool: 'apply_patch', kind: 'edit', input: { patchText: text }, free: ['patchText'] },
  {
    agent: 'opencode',
    tool: 'task',
    kind: 'subagent',
    input: { description: text, prompt: text, subagent_type: text },
    free: ['description', 'prompt'],
  },
  // ACP: Gemini, and inputs of other agents
  {
    agent: 'gemini',
    tool: 'run_shell_command',
    kind: 'execute',
    input: { command: text, description: text, dir_path: text },
    free: ['description'],
  },
  {
    agent: 'gemini',
    tool: 'replace',
    kind: 'edit',
    input: { file_path: text, instruction: text, old_string: text, new_string: text },
    free: ['file_path', 'instruction', 'old_string', 'new_string'],
  },
  {
    agent: 'acp',
    tool: 'terminal',
    kind: 'execute',
    input: { command: text, args: fc.array(text), env, unsandboxed: fc.boolean(), cwd: text },
  },
  { agent: 'acp', tool: 'terminal', kind: 'other', input: { cmd: text, args: fc.array(text), env } },
  {
    agent: 'acp',
    tool: 'edit',
    kind: 'edit',
    input: { path: text, unsandboxed: fc.boolean() },
    free: ['path'],
  },
  { agent: 'acp', tool: 'edit', kind: 'edit', input: { path: text, command: text } },
  {
    agent: 'acp',
    tool: 'grep',
    kind: 'search',
    input: { pattern: text, path: text, cwd: text },
    free: ['pattern', 'path'],
  },
]

const asking = stateAfter(created)
const scopes = { session: { sessionId: 'ses_1' }, project: { project: '/somewhere' }, always: {} } as const

/** The rules that answers with a scope other than `once` store. */
function grantsOf(subject: Subject): PermissionRule[] {
  return optionsFor(subject).flatMap(({ rule, scope }) =>
    rule && scope !== 'once' ? [ruleOf(rule, scope)] : [],
  )
}

function ruleOf(pattern: RulePattern, scope: keyof typeof scopes): PermissionRule {
  return { ...pattern, ruleId: 'r', decision: 'allow', scope, ...scopes[scope], createdAt: 1 }
}

const subjectOf = ({ tool, kind }: Shape, input: unknown, reach: Partial<Subject> = {}): Subject => ({
  tool,
  kind,
  input,
  readOnly: false,
  ...reach,
})
const runs = (subject: Subject, rules: readonly PermissionRule[]) =>
  rules.some((rule) => evaluate(subject, asking, [rule]).decision === 'allow')

describe.each(shapes)('a grant of $agent: $tool ($kind) for $input', (shape) => {
  const input = fc.record(shape.input)
  const names = Object.keys(shape.input)
  const pinned = names.filter((name) => !shape.free?.includes(name))

  it('covers the same call, even with other values of harmless fields', () => {
    fc.assert(
      fc.property(input, input, (given, other) => {
        const grants = grantsOf(subjectOf(shape, given))
        expect(grants).toHaveLength(3)
        expect(runs(subjectOf(shape, given), grants)).toBe(true)
        const changed = Object.fromEntries((shape.free ?? []).map((name) => [name, other[name]]))
        expect(runs(subjectOf(shape, { ...given, ...changed }), grants)).toBe(true)
      }),
    )
  })

  if (pinned.length > 0)
    it('covers no other value of a significant field', () => {
      fc.assert(
        fc.property(input, input, fc.constantFrom(...pinned), anyJson, (given, other, name, value) => {
          const grants = grantsOf(subjectOf(shape, given))
          for (const next of [other[name], value, String(given[name]), undefined]) {
            if (JSON.stringify(next) === JSON.stringify(given[name])) continue
            expect(runs(subjectOf(shape, { ...given, [name]: next }), grants)).toBe(false)
          }
        }),
      )
    })

  it('covers no call with an additional field', () => {
    const more = fc.oneof(
      fc.constantFrom('cwd', 'workdir', 'env', 'args', 'unsandboxed', 'sandbox', 'grantRoot', 'shell'),
      fc.string({ minLength: 1, maxLength: 8 }),
    )
    fc.assert(
      fc.property(input, more, anyJson, (given, name, value) => {
        fc.pre(!names.includes(name) && name !== '__proto__' && !harmless.has(name))
        const grants = grantsOf(subjectOf(shape, given))
        expect(runs(subjectOf(shape, { ...given, [name]: value }), grants)).toBe(false)
      }),
    )
  })

  it('covers nothing outside the folders, no protected file, no other tool, session, folder or agent', () => {
    fc.assert(
      fc.property(input, (given) => {
        const subject = subjectOf(shape, given)
        const grants = grantsOf(subject)
        expect(runs({ ...subject, outside: true }, grants)).toBe(false)
        expect(runs({ ...subject, protected: true }, grants)).toBe(false)
        expect(runs({ ...subject, tool: `${shape.tool}2` }, grants)).toBe(false)
        const [session, project] = grants
        const elsewhere = stateAfter({ ...created, cwd: '/elsewhere' })
        expect(evaluate(subject, { ...asking, id: 'ses_2' }, [session!]).decision).toBe('ask')
        expect(evaluate(subject, elsewhere, [project!]).decision).toBe('ask')
      }),
    )
  })

  it('given outside the folders covers exactly that call, and no call that changes a protected file', () => {
    fc.assert(
      fc.property(input, input, fc.constantFrom(...names), (given, other, name) => {
        const outside = subjectOf(shape, given, { outside: true })
        const grants = grantsOf(outside)
        expect(runs(outside, grants)).toBe(true)
        expect(runs({ ...outside, protected: true }, grants)).toBe(false)
        expect(grantsOf({ ...outside, protected: true })).toEqual([])
        const isHarmless = harmless.has(name) || (name === 'prompt' && shape.free?.includes(name))
        if (isHarmless || JSON.stringify(other[name]) === JSON.stringify(given[name])) return
        expect(runs({ ...outside, input: { ...given, [name]: other[name] } }, grants)).toBe(false)
      }),
    )
  })
})

const harmless = new Set([
  'description',
  'timeout',
  'timeout_ms',
  'timeoutMs',
  'offset',
  'limit',
  'line',
  'replace_all',
  'replaceAll',
])
