import type { NewRule } from '@parley/protocol'
import { relativeProblem } from '../base/folder-problem.logic.ts'

export type RuleForm = {
  readonly decision: NewRule['decision']
  readonly tool: string
  /** The input field to compare and its pattern. Both are empty in a rule for every use of the tool. */
  readonly field: string
  readonly text: string
  /** Empty for all folders. */
  readonly folder: string
  /** Empty for all agents. */
  readonly agent: string
  /** For allow rules: whether they also cover files outside the session's folder, or changes to protected files. */
  readonly outside: boolean
  readonly protected: boolean
}

export const emptyRule: RuleForm = {
  decision: 'deny',
  tool: '',
  field: 'command',
  text: '',
  folder: '',
  agent: '',
  outside: false,
  protected: false,
}

/** The rule in the format of the server, or the first problem with the form. */
export function ruleOf(form: RuleForm): { body: NewRule } | { problem: string } {
  const [tool, field, folder] = [form.tool.trim(), form.field.trim(), form.folder.trim()]
  if (tool === '') return { problem: 'Enter a tool name, or * for every tool.' }
  if (form.text !== '' && field === '')
    return { problem: 'Name the field of the tool’s input that the pattern applies to.' }
  if (tool === '*' && form.text === '' && form.decision === 'allow')
    return {
      problem: 'This rule would allow everything. Name a tool, or choose the mode Bypass in a session.',
    }
  const wrong = folder === '' ? undefined : relativeProblem(folder)
  if (wrong) return { problem: wrong.text }
  return {
    body: {
      decision: form.decision,
      tool,
      ...(form.text !== '' && { match: { [field]: form.text } }),
      ...(folder === '' ? { scope: 'always' } : { scope: 'project', project: folder }),
      ...(form.agent !== '' && { agent: form.agent }),
      ...(form.decision === 'allow' && form.outside && { outside: true }),
      ...(form.decision === 'allow' && form.protected && { protected: true }),
    },
  }
}

/**
 * The further files that an allow rule covers, as text: files outside the session's folder, protected files,
 * or both. Empty if there are none.
 */
export function reachText({ outside, protected: covers }: Pick<NewRule, 'outside' | 'protected'>): string {
  const covered = [...(outside ? ['files outside the folder'] : []), ...(covers ? ['protected files'] : [])]
  return covered.length === 0 ? '' : `${covered.join(' and ')}, too`
}
