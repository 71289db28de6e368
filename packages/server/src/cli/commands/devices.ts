import { type Device, ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { personNames } from '../person-names.ts'
import { type Referable, referredTo } from '../reference.ts'
import { expiryText, limitsText, scopesText } from '../rights-text.ts'
import { shownIds } from '../session-reference.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export async function listDevices(
  options: Flags & { readonly json?: boolean },
  context: Context,
): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const devices = await server.client.access.devices()
  const nameOf = options.json ? undefined : await personNames(server.client, devices)
  const isLimited = devices.some(({ limits }) => limits)
  const expires = devices.some(({ expiresAt }) => expiresAt !== undefined)
  const columns = [
    { name: 'ID' },
    { name: 'BROWSER', shrinks: true },
    ...(nameOf ? [{ name: 'PERSON', shrinks: true }] : []),
    { name: 'SCOPES', shrinks: true },
    ...(isLimited ? [{ name: 'LIMITS', shrinks: true }] : []),
    ...(expires ? [{ name: 'EXPIRES' }] : []),
    { name: 'SEEN' },
  ]
  const shown = shownIds(
    devices.map(({ deviceId }) => deviceId),
    output,
  )
  const row = ({ deviceId, name, personId, scopes, limits, expiresAt, lastSeenAt }: Device) => [
    shown(deviceId),
    name,
    ...(nameOf ? [nameOf(personId)] : []),
    scopesText(scopes),
    ...(isLimited ? [limitsText(limits)] : []),
    ...(expires ? [expiryText(expiresAt)] : []),
    ageText(Date.now() - lastSeenAt),
  ]
  const empty = `No browser is signed in. For a link that signs one in: ${commandLine('token --link')}`
  printList(devices, { columns, row, empty }, { json: options.json, output })
  return 0
}

export async function revokeDevices(
  given: string | undefined,
  options: Flags & { readonly all?: boolean; readonly json?: boolean },
  context: Context,
): Promise<number> {
  if ((given === undefined) === !options.all) {
    throw new ParleyError('validation_error', 'Give either the id of a browser or --all.')
  }
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const devices = await server.client.access.devices()
  const about: Referable<Device> = {
    one: 'signed-in browser',
    many: 'signed-in browsers',
    id: ({ deviceId }) => deviceId,
    name: ({ name }) => name,
    list: commandLine('devices'),
  }
  const meant = given === undefined ? devices : [referredTo(devices, given, about)]
  for (const device of meant) {
    await server.client.access.revokeDevice(device.deviceId)
    if (options.json) output.out(`${JSON.stringify(device)}\n`)
    else output.err(`Signed out: ${oneLine(device.name)} (${device.deviceId})\n`)
  }
  return 0
}
