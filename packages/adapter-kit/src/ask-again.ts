/** A call that had no result when its turn was parked. */
export type OpenCall = { readonly toolCallId: string; readonly name: string; readonly title: string }

const restarted =
  'Parley was restarted while you waited for an answer. Go on where you were: call the same tool again with the same input.'

const maxTitle = 500
const maxName = 100
const maxCalls = 20

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
 * A text for the model that lists the calls without a result. The agent's own record may be incomplete: some agents
 * write it in batches, so a killed agent may have lost its last call and the results of the calls before it. A file
 * that the agent has read may have influenced a name or a title, so each is one line of limited length, and the title
 * is quoted.
 */
export function openCallsNotice(openCalls: readonly OpenCall[]): string {
  const names = openCalls
    .slice(0, maxCalls)
    .map(({ name, title }) => `${oneLine(name, maxName)} ${JSON.stringify(oneLine(title, maxTitle))}`)
  const more = openCalls.length > maxCalls ? ` and ${openCalls.length - maxCalls} more` : ''
  return `You waited for: ${names.join(', ')}${more}. All other calls of this turn have ended, even where your record shows no result: do not repeat them.`
}

function oneLine(text: string, maxLength: number): string {
  return text.replace(/\s+/g, ' ').slice(0, maxLength)
}
