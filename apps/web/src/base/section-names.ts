import type { SettingsSection } from './route.logic.ts'

/** The names of the settings sections. */
export const sectionNames: Record<SettingsSection, string> = {
  agents: 'Agents',
  permissions: 'Rules and trust',
  appearance: 'Appearance',
  keys: 'Keyboard',
  browser: 'Browsers',
}
