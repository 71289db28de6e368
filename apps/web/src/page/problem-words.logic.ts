import { messageOf, ParleyError } from '@parley/protocol'

/** The server was not heard; that is over when it is. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof ParleyError && thrown.details?.reason === 'unreachable'
}

/** What went wrong, for people: routes, headers and numbers of the wire mean nothing to them. */
export function problemWords(thrown: unknown): string {
  if (!(thrown instanceof ParleyError)) return messageOf(thrown)
  const { code, details } = thrown
  if (isUnreachable(thrown)) {
    return 'The server does not answer. It may have stopped, or the network is away; what is here is kept.'
  }
  if (code === 'unauthorized') {
    if (details?.reason === 'link') return thrown.message
    const command = typeof details?.link === 'string' ? details.link : 'parley token --link'
    return `Open the link that the server printed when it started, or a new one: ${command} prints it.`
  }
  if (typeof details?.status === 'number') {
    return 'What answered was not the Parley server. Something between it and this browser may be in the way.'
  }
  if (code === 'validation_error' && typeof details?.cwd === 'string') {
    return `${details.cwd} is not a folder that can be worked in. Choose one that exists.`
  }
  return thrown.message
}
