import { hasCode, messageOf, ParleyError } from '@parley/protocol'

/** True if the error means that the server is unreachable, which may be temporary. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof ParleyError && thrown.details?.reason === 'unreachable'
}

/**
 * The command that prints a new sign-in link, if the error means that this browser is not signed in. The error does not
 * contain the server's data folder, because a browser that is not signed in must not learn that path.
 */
export function linkCommand(thrown: unknown): string | undefined {
  if (!hasCode(thrown, 'unauthorized') || thrown.details?.reason === 'link') return undefined
  const { link } = thrown.details ?? {}
  return typeof link === 'string' ? link : 'parley token --link'
}

const dataDirNote = '(with the --data-dir of the server, if it was started with one)'

/** An error message for people, without routes, headers and status codes. */
export function errorText(thrown: unknown): string {
  if (!(thrown instanceof ParleyError)) return messageOf(thrown)
  const { code, details } = thrown
  if (isUnreachable(thrown)) {
    return 'The server does not answer. It may have stopped, or the network is down. Nothing is lost.'
  }
  if (code === 'unauthorized') {
    const command = linkCommand(thrown)
    if (command === undefined) return `${thrown.message} ${dataDirNote}`
    return `Open the link that the server printed when it started, or print a new one: ${command} ${dataDirNote}`
  }
  if (typeof details?.status === 'number') {
    return 'The reply did not come from the Parley server. A proxy between the server and this browser may have sent it.'
  }
  if (code === 'validation_error' && typeof details?.cwd === 'string') {
    return `${details.cwd} cannot be used: it does not exist or is not a folder.`
  }
  return thrown.message
}
