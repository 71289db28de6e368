import type { NewRule } from '@parley/protocol'
import { relativeProblem } from '../start/folder-problem.logic.ts'

/** A rule as it is being written. */
export type RuleForm = {
  readonly decision: NewRule['decision']
  readonly tool: string
  /** What of the input is looked at, and the text that it must have; neither for every use of the tool. */
  readonly field: string
  readonly text: string
  /** Empty: everywhere. */
  readonly folder: string
  /** Empty: of every agent. */
  readonly agent: string
  /** Of a rule that allows: files outside the session's folder, and changes of protected ones, too. */
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

/** The rule as the server takes it, or what is still wrong with it. */
export function ruleOf(form: RuleForm): { rule: NewRule } | { problem: string } {
  const [tool, field, folder] = [form.tool.trim(), form.field.trim(), form.folder.trim()]
  if (tool === '') return { problem: 'Enter a tool name, or * for every tool.' }
  if (form.text !== '' && field === '') return { problem: 'Enter the input field to match.' }
  if (tool === '*' && form.text === '' && form.decision === 'allow')
    return {
      problem: 'That would allow everything. Name a tool, or choose the mode “Never ask” in a session.',
    }
  const wrong = folder === '' ? undefined : relativeProblem(folder)
  if (wrong) return { problem: wrong.text }
  return {
    rule: {
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

/** Where a rule that allows holds beside the files of a session's folder. */
export function reachWords({ outside, protected: covers }: Pick<NewRule, 'outside' | 'protected'>): string {
  const words = [...(outside ? ['files outside the folder'] : []), ...(covers ? ['protected files'] : [])]
  return words.length === 0 ? '' : `${words.join(' and ')}, too`
}
