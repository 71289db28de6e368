import { type Actor, visible } from '@parley/protocol'

/** The person who looks at the page, and the browser. Absent fields are not known yet. */
type Viewer = { readonly personId?: string; readonly deviceId?: string }

/** The id of the token of the server's machine, which commands of its owner use. */
const machineTokenId = 'tok_machine'

/** The browser, token or link of an actor; undefined if it is known from the face alone. */
function whereOf({ device, token, link }: Actor): string | undefined {
  if (token && token.id !== machineTokenId) return `token ${token.name}`
  return (device ?? token ?? link)?.name
}

/** A person and where the person acted from: "Ana · Chrome on Linux". */
export function actorText(actor: Actor): string {
  const where = whereOf(actor)
  return visible(where === undefined ? actor.person.name : `${actor.person.name} · ${where}`)
}

/**
 * Whose work this is, if the viewer should be told: another person, or a program with a named token of the viewer. The
 * only person of a server sees no name on their own work.
 */
export function otherActorText(actor: Actor | undefined, viewer: Viewer): string | undefined {
  if (!actor || viewer.personId === undefined) return undefined
  if (actor.person.id !== viewer.personId) return actorText(actor)
  const { token } = actor
  return token && token.id !== machineTokenId ? visible(`token ${token.name}`) : undefined
}

/** Who answered a request: "you", "you · Firefox on Linux" from another browser, "Ana · Chrome on Linux". */
export function answererText(actor: Actor | undefined, viewer: Viewer): string {
  if (!actor || viewer.personId === undefined) return 'you'
  if (actor.person.id !== viewer.personId) return actorText(actor)
  const where = actor.device?.id === viewer.deviceId ? undefined : whereOf(actor)
  return where === undefined ? 'you' : visible(`you · ${where}`)
}
