import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { toast } from '../parts/toasts.tsx'
import { Section } from './section.tsx'
import { useServerList } from './use-server-list.ts'

const listFolders = () => client.call('listTrustedFolders').then(({ folders }) => folders)

/** The folders whose settings, hooks and MCP servers agents may load. */
export function TrustSection() {
  const { list: folders, change } = useServerList(listFolders)
  const now = useNow()
  const revoke = (folder: string) =>
    change(async () => {
      await client.call('distrustFolder', { query: { folder } })
      const restore = () => change(() => client.call('trustFolder', { body: { folder } }))
      toast('Folder no longer trusted.', { action: { label: 'Undo', run: restore } })
    })
  return (
    <Section
      title="Trusted folders"
      purpose="Agents load settings, hooks and MCP servers from these folders and the folders inside them."
    >
      {folders?.length === 0 && <p className="text-sm">None. Agents load only your own settings.</p>}
      <ul className="flex flex-col gap-2">
        {folders?.map(({ folder, trustedAt }) => (
          <li
            key={folder}
            className="flex items-center gap-3 rounded-lg border border-line bg-card px-3.5 py-2 text-sm"
          >
            <span className="min-w-0 flex-1 font-mono text-xs [overflow-wrap:anywhere]">{folder}</span>
            <span className="text-xs text-faint">Trusted {agoInWords(trustedAt, now)}</span>
            <Button look="danger" aria-label={`Revoke trust of ${folder}`} onClick={() => revoke(folder)}>
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  )
}
