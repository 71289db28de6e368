import type { ToolCall } from '../model-answers.ts'
import { calls, denying, oneTurn, person, type Scenario, says, turns } from './stage.ts'

const escalated = (cmd: string): ToolCall => [
  'exec_command',
  { cmd, sandbox_permissions: 'require_escalated', justification: 'as asked' },
]
const answering = person({
  answer: async ({ questions }) => ({
    outcome: 'answered',
    requestId: 'req',
    answers: Object.fromEntries(questions.map(({ id }) => [id, 'blue'])),
  }),
})
const colours = {
  question: 'Which colour?',
  header: 'Colour',
  options: [
    { label: 'red', description: 'warm' },
    { label: 'blue', description: 'cold' },
  ],
}

export const codex: Readonly<Record<string, Scenario>> = {
  'codex-text': turns(['Hello.'], [says('Hello, this is the model speaking.')], { trusted: true }),
  'codex-command': oneTurn(
    [
      calls(['exec_command', { cmd: 'echo hi' }]),
      calls(escalated('echo hi > a.txt; exit 3')),
      says('It is written.'),
    ],
    { trusted: true },
  ),
  'codex-denied': oneTurn([calls(escalated('touch no.txt'))], { trusted: true, person: denying }),
  'codex-plan': oneTurn([says('<proposed_plan>\nFirst this.\n</proposed_plan>'), says('It is done.')], {
    trusted: true,
    settings: { mode: 'plan' },
  }),
}

export const opencode: Readonly<Record<string, Scenario>> = {
  'opencode-text': turns(['Hello.'], [says('Hello, this is the model speaking.')], { trusted: true }),
  'opencode-edit': {
    files: { 'poem.txt': 'roses are red\n' },
    ...turns(
      ['Change it.'],
      (cwd) => {
        const filePath = `${cwd}/poem.txt`
        return [
          calls(['read', { filePath }]),
          calls(['edit', { filePath, oldString: 'red', newString: 'white' }]),
          says('The poem is better now.'),
        ]
      },
      { trusted: true },
    ),
  },
  'opencode-denied': oneTurn([calls(['bash', { command: 'touch no.txt', description: 'as asked' }])], {
    trusted: true,
    person: denying,
  }),
}

const shell = (command: string): ToolCall => [
  'run_shell_command',
  { command, description: 'as asked', is_background: false },
]

export const qwen: Readonly<Record<string, Scenario>> = {
  'qwen-text': turns(['Hello.'], [says('Hello, this is the model speaking.')]),
  'qwen-command': oneTurn([calls(shell('echo hi > a.txt')), says('It is written.')]),
  'qwen-denied': oneTurn([calls(shell('touch no.txt'))], { person: denying }),
  'qwen-question': oneTurn(
    [calls(['ask_user_question', { questions: [{ ...colours, multiSelect: false }] }]), says('Blue it is.')],
    { person: answering },
  ),
}
