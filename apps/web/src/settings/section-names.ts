import type { SettingsSection } from '../page/route.logic.ts'

/** What the sections of the settings are called, wherever they are named. */
export const sectionNames: Record<SettingsSection, string> = {
  agents: 'Agents',
  permissions: 'Rules and trust',
  appearance: 'Appearance',
  keys: 'Keyboard',
  browser: 'Browsers',
}
