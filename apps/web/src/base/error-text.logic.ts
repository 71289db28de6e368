import { messageOf, ParleyError } from '@parley/protocol'

/** True if the error means that the server is unreachable, which may be temporary. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof ParleyError && thrown.details?.reason === 'unreachable'
}

/** An error message for people, without routes, headers and status codes. */
export function errorText(thrown: unknown): string {
  if (!(thrown instanceof ParleyError)) return messageOf(thrown)
  const { code, details } = thrown
  if (isUnreachable(thrown)) {
    return 'The server does not answer. It may have stopped, or the network is down. Nothing here is lost.'
  }
  if (code === 'unauthorized') {
    if (details?.reason === 'link') return thrown.message
    const command = typeof details?.link === 'string' ? details.link : 'parley token --link'
    return `Open the link that the server printed when it started, or a new one: ${command} prints it.`
  }
  if (typeof details?.status === 'number') {
    return 'The reply did not come from the Parley server. A proxy between it and this browser may be the cause.'
  }
  if (code === 'validation_error' && typeof details?.cwd === 'string') {
    return `${details.cwd} cannot be used: it is missing, or not a folder.`
  }
  return thrown.message
}
