/** A call that had no result when its turn was parked. */
export type OpenCall = { readonly toolCallId: string; readonly name: string; readonly title: string }

const restarted =
  'Parley was restarted while you waited for an answer. Go on where you were: call the same tool again with the same input.'

const maxTitle = 500

/**
 * The prompt that makes a restarted agent continue a parked turn, if the prompt of that turn need not be sent again.
 */
export function askAgain(openCalls: readonly OpenCall[]): string {
  return openCalls.length === 0 ? restarted : `${restarted} ${openCallsNotice(openCalls)}`
}

/** True for a text that `askAgain` returned. */
export function isAskAgain(text: string): boolean {
  return text.startsWith(restarted)
}

/**
 * Tells the model which calls have no result. The agent's conversation may not show this: some agents store it in
 * batches, so a killed agent may have lost its last call and the results of the calls before it.
 */
export function openCallsNotice(openCalls: readonly OpenCall[]): string {
  const names = openCalls.map(({ name, title }) => `${name} "${title.slice(0, maxTitle)}"`)
  return `You waited for: ${names.join(', ')}. All other calls of this turn have ended, even where your record shows no result: do not repeat them.`
}
