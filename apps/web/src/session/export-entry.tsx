import type { ExportFormat } from '@parley/protocol'
import { Download } from 'lucide-react'
import type { MenuEntry } from '../parts/menu-list.tsx'

const formats: Record<ExportFormat, string> = {
  html: 'A page (HTML)',
  markdown: 'Markdown',
  jsonl: 'The events as recorded (JSONL)',
  'ui-messages': 'AI SDK UI messages (JSON)',
  'incoming-messages': 'Incoming messages (JSON)',
  'run-events': 'Run events (JSON)',
}

/** Every way that the server can write a session down. */
export function exportEntry(sessionId: string): MenuEntry {
  return {
    label: 'Export',
    icon: <Download size={14} />,
    entries: (Object.keys(formats) as ExportFormat[]).map((format) => ({
      label: formats[format],
      onSelect: () => fetchExport(sessionId, format),
    })),
  }
}

/** A page is shown in a tab of its own, the rest is saved. */
function fetchExport(sessionId: string, format: ExportFormat): void {
  const link = document.createElement('a')
  link.href = `/api/sessions/${encodeURIComponent(sessionId)}/export?as=${format}`
  if (format === 'html') Object.assign(link, { target: '_blank', rel: 'noopener' })
  else link.download = ''
  link.click()
}
