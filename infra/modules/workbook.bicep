// The workbook of infra/observability/, in the gallery of the workspace.
param location string
param tags object
param workspaceId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  // The name of a workbook is a GUID.
  name: guid(workspaceId, 'millrace')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Millrace'
    category: 'workbook'
    sourceId: workspaceId
    version: 'Notebook/1.0'
    serializedData: loadTextContent('../observability/azure-workbook.json')
  }
}
