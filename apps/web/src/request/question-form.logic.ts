import type { Answers, Question } from '@parley/protocol'

/** The contents of the form: the chosen options and the free text of each question. */
export type Filled = Readonly<Record<string, { readonly chosen: readonly string[]; readonly words: string }>>

const blank = { chosen: [], words: '' }

export const filledFor = (filled: Filled, id: string) => (Object.hasOwn(filled, id) ? filled[id]! : blank)

/**
 * Chooses an option. In a multiple-choice question, choosing an option again deselects it. In a single-choice question,
 * a choice replaces the other choice and the free text.
 */
export function choose(filled: Filled, question: Question, label: string): Filled {
  const before = filledFor(filled, question.id)
  const has = before.chosen.includes(label)
  if (question.multiple) {
    const chosen = has ? before.chosen.filter((other) => other !== label) : [...before.chosen, label]
    return { ...filled, [question.id]: { ...before, chosen } }
  }
  return { ...filled, [question.id]: { chosen: [label], words: '' } }
}

export function write(filled: Filled, question: Question, words: string): Filled {
  const before = filledFor(filled, question.id)
  const chosen = question.multiple || words.trim() === '' ? before.chosen : []
  return { ...filled, [question.id]: { chosen, words } }
}

const leaveToAgentAnswer = 'You decide.'

/**
 * The answers, with the unanswered questions left to the agent. Undefined if all questions are answered, or
 * if an unanswered question accepts no free text.
 */
export function leftToAgent(questions: readonly Question[], answers: Answers): Answers | undefined {
  const open = questions.filter(({ id }) => !Object.hasOwn(answers, id))
  if (open.length === 0 || !open.every(({ freeText }) => freeText)) return undefined
  const left = open.map(
    ({ id, multiple }) => [id, multiple ? [leaveToAgentAnswer] : leaveToAgentAnswer] as const,
  )
  return Object.fromEntries([...Object.entries(answers), ...left])
}

/** The answers in the format of the protocol. Unanswered questions are left out. */
export function answersOf(questions: readonly Question[], filled: Filled): Answers {
  const answers: [string, string | string[]][] = []
  for (const question of questions) {
    const { chosen, words } = filledFor(filled, question.id)
    const given = words.trim() === '' ? [...chosen] : [...chosen, words.trim()]
    if (given.length > 0) answers.push([question.id, question.multiple ? given : given[0]!])
  }
  return Object.fromEntries(answers)
}
