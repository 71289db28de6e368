import { newId, ParleyError, routes } from '@parley/protocol'
import { type App, type AppParts, isFromNode, mount } from '../mount.ts'

export function mountTerminals(app: App, parts: AppParts): void {
  const terminals = () => {
    if (parts.terminals) return parts.terminals
    throw new ParleyError('not_supported', 'Terminals are not enabled on this server.')
  }
  // A shell can read everything, so these routes need no other scope than terminal.
  const { host } = parts
  mount(app, parts, routes.listTerminals, async ({ params, context }) => {
    const { id } = await host.state(params.id)
    const here = parts.terminals?.list(id) ?? []
    if (!parts.otherNodes || isFromNode(context)) return { terminals: here }
    const all = [...here, ...(await parts.otherNodes.terminals(id))]
    return { terminals: all.sort((one, other) => one.startedAt - other.startedAt) }
  })
  mount(app, parts, routes.openTerminal, async ({ params, body: { run, cols, rows }, actor }) => {
    const { id, cwd, terminal: command } = await host.detail(params.id, 0)
    if (run === 'agent' && !command) {
      throw new ParleyError(
        'not_supported',
        'The agent of this session has no program in which it can continue.',
      )
    }
    const shells = terminals()
    const start = { sessionId: id, folder: cwd, cols, rows }
    if (run !== 'agent' || !command) return shells.open(start)
    const ready = async () =>
      void (await host.command(id, { type: 'session.release', commandId: newId('cmd') }, actor))
    return shells.open({ ...start, command, ready })
  })
  mount(app, parts, routes.removeTerminal, ({ params }) => terminals().remove(params.id))
}
