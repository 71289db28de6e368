import { type Actor, visible } from '@parley/protocol'

/** The person who uses the page, and their browser. Absent fields are not known yet. */
type Viewer = { readonly personId?: string; readonly deviceId?: string }

/** The id of the token of this machine, which the commands of the owner use. */
const machineTokenId = 'tok_machine'

/** The name of the browser, token or link of an actor. Undefined if the actor has none of these. */
function whereOf({ device, token, link }: Actor): string | undefined {
  if (token && token.id !== machineTokenId) return `token ${token.name}`
  return (device ?? token ?? link)?.name
}

/** A person, and the browser, token or link that the person used: "Ana · Chrome on Linux". */
export function actorText(actor: Actor): string {
  const where = whereOf(actor)
  return visible(where === undefined ? actor.person.name : `${actor.person.name} · ${where}`)
}

/**
 * The name to show beside a prompt or a setting. Undefined if the viewer created the prompt or the setting in a browser
 * or with the token of the machine.
 */
export function otherActorText(actor: Actor | undefined, viewer: Viewer): string | undefined {
  if (!actor || viewer.personId === undefined) return undefined
  if (actor.person.id !== viewer.personId) return actorText(actor)
  const { token, link } = actor
  if (link) return visible(link.name)
  return token && token.id !== machineTokenId ? visible(`token ${token.name}`) : undefined
}

/** The person who answered: "you", "you · Firefox on Linux" from another browser, "Ana · Chrome on Linux". */
export function answererText(actor: Actor | undefined, viewer: Viewer): string {
  if (!actor || viewer.personId === undefined) return 'you'
  if (actor.person.id !== viewer.personId) return actorText(actor)
  // Somebody else may have used the link.
  if (actor.link) return visible(`${actor.link.name}, created by you`)
  const where = actor.device?.id === viewer.deviceId ? undefined : whereOf(actor)
  return where === undefined ? 'you' : visible(`you · ${where}`)
}
