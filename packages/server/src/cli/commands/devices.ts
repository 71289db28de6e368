import { type Device, ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

const columns = [{ name: 'ID' }, { name: 'BROWSER', shrinks: true }, { name: 'SIGNED IN' }, { name: 'SEEN' }]

export async function listDevices(
  options: Flags & { readonly json?: boolean },
  context: Context,
): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { devices } = await server.client.call('listDevices')
  const age = (at: number) => ageText(Date.now() - at)
  const row = (one: Device) => [one.deviceId, one.name, age(one.createdAt), age(one.lastSeenAt)]
  const empty = `No browser is signed in. For a link that signs one in: ${commandLine('token --link')}`
  printList(devices, { columns, row, empty }, { json: options.json, output })
  return 0
}

export async function revokeDevices(
  given: string | undefined,
  options: Flags & { readonly all?: boolean },
  context: Context,
): Promise<number> {
  if ((given === undefined) === !options.all) {
    throw new ParleyError('validation_error', 'Give either the id of a browser or --all.')
  }
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { devices } = await server.client.call('listDevices')
  const meant = given === undefined ? devices : [found(devices, given, context)]
  for (const { deviceId, name } of meant) {
    await server.client.call('revokeDevice', { params: { id: deviceId } })
    context.output.err(`Signed out: ${oneLine(name)} (${deviceId})\n`)
  }
  return 0
}

function found(devices: readonly Device[], given: string, { commandLine }: Context): Device {
  const fitting = devices.filter(({ deviceId }) => deviceId.startsWith(given))
  const [only] = fitting
  if (only && fitting.length === 1) return only
  const many = fitting.length > 1 ? `${fitting.length} signed-in browsers have` : 'No signed-in browser has'
  const lists = commandLine('devices')
  throw new ParleyError('not_found', `${many} an id that starts with "${given}". ${lists} lists them.`)
}
