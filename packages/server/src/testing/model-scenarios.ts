import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BackgroundScenario, Scenarios } from '@parley/adapter-kit/testing'
import { call, done, onePixel } from './model-answers.ts'
import { modelPrompt, type PromptedAnswer } from './model-by-prompt.ts'
import type { ModelAnswer } from './model-server.ts'

/** The parts of these scenarios that depend on the agent, because agents name their tools differently. */
export type ModelWords = {
  /** An answer in which the model runs a command. */
  command(line: string): ModelAnswer
  /** The name by which the model calls the tool `say` of the MCP server `echo`. */
  readonly echo: string
  /** The text of the model after the call; by default, everything it has received. */
  readonly echoed?: string
}

/** Scenarios of the contract for any real agent whose model gives the answers that a prompt contains. */
export function modelScenarios({ command, echo, echoed }: ModelWords) {
  const answer: PromptedAnswer = echoed === undefined ? { say: 'history' } : { content: echoed }
  return {
    text: { prompt: modelPrompt('Hello.', { content: 'Hello there, you.' }), says: 'Hello there' },
    busy: { prompt: modelPrompt('Wait.', command('tail -f /dev/null'), done), session: { mode: 'bypass' } },
    toolCall: { prompt: modelPrompt('Look.', command('echo hi'), done) },
    unrecognised: { notPossible: 'the real program sends no unknown messages' },
    streaming: { prompt: modelPrompt('Hello.', { content: 'One, two, three, four, five.' }) },
    thinking: { prompt: modelPrompt('Think.', { reasoning: 'Let me think about it.', content: 'Yes.' }) },
    permissions: {
      prompt: modelPrompt('Write it.', command('printf "once\\n" > note.txt'), done),
      effect: { path: 'note.txt', text: 'once\n' },
    },
    images: {
      prompt: [
        { type: 'text', text: modelPrompt('Look.', { content: 'A small picture.' }) },
        { type: 'image', mimeType: 'image/png', data: onePixel },
      ],
      says: 'picture',
    },
    files: {
      prompt: [
        { type: 'text', text: modelPrompt('Read.', { say: 'history' }) },
        { type: 'file', name: 'a.txt', text: 'parsley and sage' },
      ],
      says: 'parsley and sage',
    },
    resume: remembering('parsley'),
    interrupt: {},
    environment: {
      prompt: modelPrompt('Write it.', command('printf "$CONTRACT_WORD\\n" > word.txt'), done),
      session: { mode: 'bypass' },
    },
    modes: { mode: 'accept-edits' },
    mcp: {
      prompt: modelPrompt('Echo.', call(echo, { words: 'parsley' }), answer),
      servers: {
        echo: {
          command: process.execPath,
          args: ['--conditions=source', join(import.meta.dirname, 'mcp-echo.ts')],
        },
      },
      says: echoed ?? 'The echo says parsley',
    },
  } as const satisfies Partial<Scenarios>
}

/**
 * Further scenarios, for an agent that supports steering, forks and compaction. `home` is the folder of the file that
 * they wait for.
 */
export function steeredScenarios(home: string, { command }: Pick<ModelWords, 'command'>) {
  const waiting = command(`until [ -e ${home}/go ]; do sleep 0.05; done; sleep 0.5`)
  return {
    fork: remembering('sage'),
    forkBefore: recalling('dill', 'mint'),
    aside: {
      fact: recalling('thyme', 'mint').facts[0],
      calls: modelPrompt('a.txt', command('printf "once\\n" > note.txt'), {
        say: 'history',
        about: 'The herb',
      }),
      effect: { path: 'note.txt', text: 'once\n' },
      recall: recalling('thyme', 'mint').recall,
    },
    forkElsewhere: {
      ...remembering('thyme'),
      writes: {
        prompt: modelPrompt('Write it.', command('printf "once\\n" > note.txt'), done),
        effect: { path: 'note.txt', text: 'once\n' },
      },
    },
    steer: {
      prompt: modelPrompt('Wait.', waiting, { say: 'history' }),
      session: { mode: 'bypass' },
      words: 'To the left.',
      says: 'To the left.',
      release: () => writeFileSync(join(home, 'go'), ''),
      late: (go) => ({
        prompt: modelPrompt('Speak.', { content: 'The first answer.', after: go }),
        says: 'The first answer.',
        words: modelPrompt('To the left.', { content: 'Now to the left.' }),
        answer: 'Now to the left.',
      }),
    },
    effort: { effort: 'high' },
    compaction: {},
  } as const satisfies Partial<Scenarios>
}

/** A scenario in which the model asks a person for a colour with this tool, and then gives this answer. */
export function colourScenario(tool: string, question: object, answer: PromptedAnswer, says: string) {
  const options = [
    { label: 'red', description: 'warm' },
    { label: 'blue', description: 'cold' },
  ]
  const questions = [{ question: 'Which colour?', header: 'Colour', options, ...question }]
  return {
    prompt: modelPrompt('Ask.', call(tool, { questions }), answer),
    answers: ([asked]) => ({ [asked?.id ?? '']: 'blue' }),
    says,
  } satisfies Scenarios['questions']
}

/** Scenarios in which the model reports its usage in the format of its vendor. */
export function usageScenarios(usage: Readonly<Record<string, number>>) {
  const scenario = { prompt: modelPrompt('Hello.', { content: 'Hello.', usage }) }
  return { usage: scenario, cost: scenario } satisfies Partial<Scenarios>
}

/** Scenarios for Claude Code's own tools, over any protocol. */
export function claudeScenarios(home: string) {
  const command = (line: string) => call('Bash', { command: line, description: 'a command' })
  const words = { command, echo: 'mcp__echo__say', echoed: 'It said parsley.' }
  const look = {
    description: 'look',
    subagent_type: 'general-purpose',
    run_in_background: false,
    prompt: 'Say what you see: nothing.',
  }
  return {
    ...modelScenarios(words),
    ...steeredScenarios(home, words),
    ...usageScenarios({ input_tokens: 120, output_tokens: 30 }),
    questions: colourScenario('AskUserQuestion', { multiSelect: false }, done, 'done'),
    planApproval: {
      prompt: modelPrompt('Plan.', call('ExitPlanMode', { plan: 'First this, then that.' }), done),
      session: { mode: 'plan' },
    },
    edit: {
      prompt: (folder: string) => {
        const file_path = join(folder, 'poem.txt')
        const edit = { file_path, old_string: 'two', new_string: '2' }
        return modelPrompt('Change it.', call('Read', { file_path }), call('Edit', edit), done)
      },
    },
    subagents: { prompt: modelPrompt('Delegate.', call('Agent', look), done) },
    background: claudeBackground(command),
    commands: { prompt: modelPrompt('Hello.', { content: 'Hello.' }), command: 'compact', says: 'Hello' },
  } as const satisfies Partial<Scenarios>
}

/** Background scenarios for Claude Code, which starts subagents in the background by default. */
function claudeBackground(command: (line: string) => ModelAnswer): BackgroundScenario {
  return {
    asks: (go) => {
      const prompt = modelPrompt('Write it.', { ...command('printf "late\\n" > late.txt'), after: go }, done)
      const task = { description: 'write late', subagent_type: 'general-purpose', prompt }
      return {
        prompt: modelPrompt(
          'Delegate.',
          call('Agent', task),
          { content: 'It is at work.' },
          { content: 'The subagent wrote it.' },
        ),
        says: 'The subagent wrote it.',
        meanwhile: {
          prompt: modelPrompt(
            'Hello.',
            { content: 'Hello there, you.' },
            { content: 'The subagent wrote it.' },
          ),
          says: 'Hello there',
        },
        effect: { path: 'late.txt', text: 'late\n' },
      }
    },
    runs: (go, report) => {
      const line = `until [ -e ${go} ]; do sleep 0.05; done`
      return {
        prompt: modelPrompt(
          'Start it.',
          call('Bash', { command: line, description: 'wait', run_in_background: true }),
          { content: 'It runs.' },
          { content: 'The command has ended.', ...(report && { after: report }) },
        ),
        says: 'The command has ended.',
        session: { mode: 'bypass' },
      }
    },
  }
}

function recalling(...herbs: readonly [string, string]) {
  const fact = (herb: string) => ({
    prompt: modelPrompt(`The herb is ${herb}.`, done),
    says: `The herb is ${herb}`,
  })
  return {
    facts: [fact(herbs[0]), fact(herbs[1])],
    recall: modelPrompt('What did I say?', { say: 'history' }),
  } as const satisfies Scenarios['forkBefore']
}

function remembering(herb: string) {
  return {
    first: modelPrompt(`The word is ${herb}.`, done),
    second: modelPrompt('What did I say?', { say: 'history' }),
    says: `The word is ${herb}`,
  }
}
